/* Moving by keyboard and lighting up one token everywhere. */

/** Moves the cursor; the page hears of it once the reader rests. */
function moveTo(view, round, place = null) {
  const { store } = view;
  const last = store.rounds.length - 1;
  const next = { round: Math.min(Math.max(round, -1), last), place };
  if (next.round === store.cursor.round && next.place === store.cursor.place) return;
  store.cursor = next;
  if (!view.dragging) report(view);
  draw(view);
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Left and right go through rounds, up and down through places, Home and End to the outer rounds. */
function handleKey(view, event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const { round } = view.store.cursor;
  const last = view.store.rounds.length - 1;
  if (event.key === "Enter" || event.key === " ") pressToken(event);
  else if (event.key === "Home") goByKey(view, event, Math.min(0, last), null);
  else if (event.key === "End") goByKey(view, event, last, null);
  else if (STEPS[event.key]) {
    const [rounds, places] = STEPS[event.key];
    if (rounds) goByKey(view, event, round + rounds, view.store.cursor.place);
    else goByKey(view, event, round, stepPlace(view, places));
  }
}

/** A token of the text is no button of the browser's, so Enter and Space have to be told. */
function pressToken(event) {
  if (!event.target.matches(".flow .token")) return;
  event.preventDefault();
  event.stopPropagation();
  event.target.click();
}

function stepPlace(view, by) {
  const places = currentRound(view)?.places.length ?? 0;
  return places ? Math.min(Math.max(placeInView(view) + by, 0), places - 1) : null;
}

/** Moves and keeps the focus in the part that it was in. */
function goByKey(view, event, round, place) {
  event.preventDefault();
  event.stopPropagation();
  const part = [view.flow, view.lanes].find((each) => each.contains(event.target));
  moveTo(view, round, place);
  part?.querySelector('[tabindex="0"]')?.focus();
}

/** One token of the text and one chip of the round can be reached with Tab: those of the place in view. */
function roveTabindex(view) {
  const place = placeInView(view);
  const parts = { token: view.spans[view.store.cursor.round], chip: view.lanes };
  for (const [kind, part] of Object.entries(parts)) {
    view.reachable[kind]?.setAttribute("tabindex", -1);
    const one = part?.querySelector(`.${kind}[data-p="${place}"]`) ?? part?.querySelector(`.${kind}`);
    one?.setAttribute("tabindex", 0);
    view.reachable[kind] = one;
  }
  const here = view.lanes.querySelectorAll(".here");
  here.forEach((element) => element.classList.remove("here"));
  view.lanes.querySelectorAll(`[data-p="${place}"]`).forEach((element) => element.classList.add("here"));
}

/** Lights a place, or one token of it, wherever it is drawn. */
function hover(view, spot) {
  if (spot && !view.shape) return;
  const name = spot ? `${spot.round}/${spot.place}/${spot.id ?? ""}` : "";
  if (view.lit === name) return;
  view.lit = name;
  view.root.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
  view.spot.hidden = !spot;
  view.told.textContent = spot ? tellPlace(view, spot) : "";
  if (!spot) return;
  const at = `[data-r="${spot.round}"][data-p="${spot.place}"]`;
  view.root.querySelectorAll(at).forEach((element) => {
    const other = spot.id !== null && element.dataset.id !== undefined && element.dataset.id !== String(spot.id);
    if (!other) element.classList.add("lit");
  });
  placeBox(view.spot, view.shape, spot.round, spot.place, 1);
}

function tellPlace(view, spot) {
  const round = view.store.rounds[spot.round];
  return round ? `round ${spot.round + 1}, ${round.places[spot.place].say}` : "";
}

function spotOf(target) {
  const element = target.closest?.("[data-r]");
  if (!element) return null;
  const { r, p, id } = element.dataset;
  return { round: Number(r), place: Number(p), id: id === undefined ? null : Number(id) };
}

function handleReader(view) {
  const { root } = view;
  root.onkeydown = (event) => handleKey(view, event);
  root.onpointerover = (event) => {
    if (!event.target.closest(".field")) hover(view, spotOf(event.target));
  };
  root.onpointerleave = () => hover(view, null);
  root.onfocusin = (event) => hover(view, spotOf(event.target));
  root.onclick = (event) => {
    const spot = event.target.closest(".flow, .lanes") && spotOf(event.target);
    if (spot) moveTo(view, spot.round, spot.place);
  };
}
