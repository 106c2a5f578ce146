/* The running text: whole characters, a seam before each round, and who each token came from. */

const TEXT_LINE = 28;
const MARKS = { [SOURCE.CORRECTION]: "↺", [SOURCE.BONUS]: "★" };
const CLASSES = { [SOURCE.KEPT]: "kept", [SOURCE.CORRECTION]: "own", [SOURCE.BONUS]: "own" };

function makeTextPanel(view) {
  view.flow = make("div", "flow", null, { dir: "auto", role: "group", "aria-label": "Text of the run" });
  view.legend = make("div", "legend");
  return fill(make("section", "panel text"), view.flow, view.legend);
}

/** Adds the rounds that are not on screen yet and moves the mark to the cursor's. */
function drawText(view) {
  const { rounds, run } = view.store;
  if (view.flow.dataset.run !== run || view.spans.length > rounds.length) startText(view);
  for (let index = view.spans.length; index < rounds.length; index += 1) {
    const span = makeRoundText(rounds[index]);
    view.spans.push(span);
    view.flow.append(span);
  }
  markText(view);
}

function startText(view) {
  view.flow.dataset.run = view.store.run;
  view.spans = [];
  view.markedRound = null;
  fill(view.flow, make("span", "prompt", visible(view.data.head.prompt)));
  fill(view.legend, ...legendItems(), make("span", "sentence", view.data.head.sentence));
}

/** Line breaks as a sign, so that a tale does not take the whole page. */
const visible = (text) => text.replaceAll("\n", "⏎").replaceAll("\t", "⇥");

function makeRoundText(round) {
  const span = make("span", "round", null, { "data-round": round.i });
  span.append(make("span", "seam", null, { "aria-hidden": "true" }));
  round.out.forEach((out, place) => span.append(...makeTextToken(round, place, out)));
  return span;
}

/** A token and the space around it; the space is outside the mark, a blank token is shown as a sign. */
function makeTextToken(round, place, [text, , source, id]) {
  if (text === "") return [];
  const core = text.replace(/^ +| +$/g, "") || text.replaceAll(" ", "·");
  const before = text.length > core.length && text.startsWith(" ") ? " " : "";
  const button = makeToken("button", `token ${CLASSES[source]}`, null, {
    type: "button",
    tabindex: -1,
    "aria-label": spokenToken(round, place, source),
  });
  if (MARKS[source]) button.append(make("span", "mark", MARKS[source]));
  button.append(visible(core));
  return [before, tie(button, round.i, place, id)];
}

function spokenToken(round, place, source) {
  if (source === SOURCE.KEPT) return `round ${round.i + 1}, ${round.places[place].say}`;
  const kind = source === SOURCE.BONUS ? "the target's own when all were kept" : "the target's own after a rejection";
  return `round ${round.i + 1}, place ${place + 1}, "${round.out[place][1]}", ${kind}`;
}

/** The cursor's round stands out, what comes after it is in grey. */
function markText(view) {
  const at = view.store.cursor.round;
  view.spans.forEach((span, index) => {
    const state = index === at ? "round here" : index > at ? "round later" : "round";
    if (span.className !== state) span.className = state;
  });
  const span = view.spans[Math.max(at, 0)];
  if (!span || view.markedRound === at) return;
  view.markedRound = at;
  keepInSight(view.flow, at < 0 ? 0 : span.offsetTop, at < 0 ? 0 : span.offsetHeight);
}

/** Scrolls inside the panel alone, and no further than needed. */
function keepInSight(box, top, height) {
  const above = top < box.scrollTop + 4;
  const below = top + height > box.scrollTop + box.clientHeight - 4;
  const aim = above ? top : below ? top + height - box.clientHeight + 8 : box.scrollTop;
  box.scrollTop = Math.round(aim / TEXT_LINE) * TEXT_LINE;
}

function legendItems() {
  const items = [
    ["token kept", "kept draft", ""],
    ["token own", "target's own after a rejection", "↺"],
    ["token own", "target's own, all kept", "★"],
    ["token fell", "rejected", "✕"],
    ["token unseen", "computed, thrown away", ""],
  ];
  return items.map(([className, words, mark]) => {
    const item = make("span", className);
    return fill(item, mark ? make("span", "mark", mark, { "aria-hidden": "true" }) : null, make("span", "words", words));
  });
}
