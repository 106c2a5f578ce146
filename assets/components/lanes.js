/* One round: draft steps, above one target pass over all places, above the tokens emitted. */

const PLACES_SIDE_BY_SIDE = 8;
const FEW_PLACES = 2;
const GHOSTS = 6;
const PLAINLY = "Without drafts a round is plain decoding: one pass, one token.";
const PASS_ALONE =
  "The time of one target pass over a single token, no drafts, no tests: the median of the target alone's " +
  "passes on this prompt, or of the cost table's where the target alone is not timed yet.";
const STATES = {
  [VERDICT.KEPT]: "passed",
  [VERDICT.REJECTED]: "fell",
  [VERDICT.UNTESTED]: "unseen",
  [VERDICT.UNNEEDED]: "unseen",
};
const TICKS = { [VERDICT.KEPT]: "✓", [VERDICT.REJECTED]: "✕" };

function makeLanesPanel(view) {
  view.lanes = make("section", "panel lanes", null, { "aria-label": "The round" });
  return view.lanes;
}

function drawLanes(view) {
  const { run, cursor, rounds } = view.store;
  const { alone, head } = view.data;
  const round = currentRound(view);
  const times = round && timesOf(view, round);
  const facts = [run, cursor.round, rounds.length, times, alone, head.conditions, view.narrow];
  return redraw(view, "lanes", facts, () => drawRound(view, round));
}

function drawRound(view, round) {
  const count = round?.places.length ?? GHOSTS;
  view.root.classList.toggle("row-a-place", view.narrow || count > PLACES_SIDE_BY_SIDE);
  view.lanes.classList.toggle("list", view.narrow || count > PLACES_SIDE_BY_SIDE);
  view.lanes.classList.toggle("few", count <= FEW_PLACES);
  view.lanes.classList.toggle("plain", round?.k === 0);
  if (!round) fill(view.lanes, ...emptyRound(view));
  else fill(view.lanes, lanesHead(view, round), ...lanesBody(view, round), make("p", "sum", round.sum));
}

function lanesHead(view, round) {
  const title = make("h3", "", `Round ${round.i + 1}`);
  title.append(make("span", "of", ` of ${view.store.rounds.length}`));
  const note = timesOf(view, round).note;
  const conditions = [view.data.head.conditions, note].filter(Boolean).join(" · ");
  return fill(make("header"), title, make("span", "settings", round.set), make("span", "conditions", conditions));
}

/** The lanes; in a narrow view the emitted tokens stand below them, side by side. */
function lanesBody(view, round) {
  const emitted = round.places.map((_, index) => emittedCell(round, index));
  if (!view.narrow) return [lanesGrid(view, round, emitted)];
  return [lanesGrid(view, round, []), fill(make("div", "came-out"), ...emitted)];
}

function lanesGrid(view, round, emitted) {
  const grid = make("div", "grid");
  grid.style.setProperty("--places", round.places.length);
  const times = timesOf(view, round);
  const why = round.k > 0 && round.stop ? `stopped: ${round.stop}` : round.stop;
  const notes = [round.how, why].filter(Boolean);
  const drafting = times.draft + (notes.length ? ` (${notes.join("; ")})` : "");
  grid.append(make("p", "lane-title by-draft drafting", drafting));
  grid.append(make("div", "pass"), passTitle(view, round, times));
  if (round.k === 0) grid.append(make("p", "plainly", PLAINLY));
  grid.append(columnNames(round));
  round.places.forEach((place, index) => {
    const cells = [stepCell(round, place, index, times), testCell(view, round, place, index)];
    if (emitted[index]) cells.push(emitted[index]);
    cells.forEach((cell) => cell.style.setProperty("--i", index + 1));
    grid.append(...cells);
  });
  return grid;
}

function passTitle(view, round, times) {
  const title = make("p", "lane-title by-target checking", times.verify);
  const { alone } = view.data;
  if (alone && round.k) title.append(" ", make("span", "alone", `(a pass over one token alone: ${alone})`, { title: PASS_ALONE }));
  return title;
}

/** Names of the columns, for many places in rows, where there is no room for them beside each number. */
function columnNames(round) {
  const names = make("div", "names", null, { "aria-hidden": "true" });
  if (round.choice) return names;
  const columns = [["", ""], ["by-draft", "draft q"], ["by-target", "target p"], ["", "test"], ["", "dice u"]];
  return fill(names, ...columns.map(([model, words]) => make("span", model, words)));
}

/** What the draft proposed at a place, and how long it took; the place after the last draft has none. */
function stepCell(round, place, index, times) {
  const cell = make("div", "step");
  if (index === round.k) return cell;
  const chip = makeToken("button", `chip by-draft ${STATES[place.v]}`, null, {
    type: "button",
    tabindex: -1,
    "aria-label": place.say,
    title: place.t,
  });
  if (place.v === VERDICT.REJECTED) chip.append(make("span", "mark", TICKS[place.v]));
  chip.append(makeToken("span", canBeStruck(place.t) ? "label" : "label small", place.t));
  cell.append(tie(chip, round.i, index, place.id), make("span", "time", times.steps[index] ?? ""));
  return cell;
}

/** The test of one place: dart bar and words, or the target's own choice, or why there is none. */
function testCell(view, round, place, index) {
  const cell = make("div", `test ${STATES[place.v] ?? "last"}`);
  tie(cell, round.i, index);
  if (place.q !== null || (place.v === VERDICT.BONUS && place.ps)) cell.append(dartBar(place));
  if (place.qs) cell.append(numberLine("by-draft", "draft", place.qs, "q"));
  if (place.ps) cell.append(numberLine("by-target", "target", place.ps, "p"));
  if (place.own && index < round.k) cell.append(choiceLine(round, place));
  cell.append(verdictLines(place));
  return cell;
}

function numberLine(model, word, number, letter) {
  const words = fill(make("span"), make("span", "name", `${word} `), number);
  return fill(make("div", `line ${model}`), words, make("i", "letter", letter));
}

function choiceLine(round, place) {
  const words = make("div", "by-target", `${round.choice}:`);
  return fill(make("div", "choice"), words, makeToken("b", "label by-target", place.own));
}

function verdictLines(place) {
  const lines = make("div", "verdict");
  lines.append(fill(make("div", "rule"), place.test, place.why ? make("span", "why", `: ${place.why}`) : null));
  const tick = TICKS[place.v];
  if (place.us) {
    const outcome = make("div", "outcome", `${tick} dice ${place.us}`);
    lines.append(fill(make("div", "line"), outcome, make("i", "letter", "u")));
  } else if (tick) {
    lines.firstChild.prepend(make("b", "", `${tick} `));
  }
  return lines;
}

/** The accept test to scale: 0 to max(p, q), draft bar to q, target outline to p, dart at u·q. */
function dartBar(place) {
  const bonus = place.v === VERDICT.BONUS;
  const scale = bonus ? 1 : Math.max(place.p, place.q) || 1;
  const bar = make("div", "bar", null, { "aria-hidden": "true" });
  const draft = make("div", "draft-bar");
  draft.style.width = share(place.q / scale);
  const target = make("div", "target-outline");
  target.style.width = share(bonus ? 1 : place.p / scale);
  bar.append(...(bonus ? [target] : [draft, target]));
  if (place.us) {
    const dart = make("div", "dart");
    dart.style.left = share((place.u * place.q) / scale);
    bar.append(dart);
  }
  return bar;
}

/** The token that came out at a place, if one did. */
function emittedCell(round, index) {
  const cell = make("div", "emitted");
  const out = round.out[index];
  if (!out) return cell;
  const [, label, source, id] = out;
  const chip = makeToken("button", `chip ${source === SOURCE.KEPT ? "by-draft" : "by-target own"}`, null, {
    type: "button",
    tabindex: -1,
    "aria-label": spokenToken(round, index, source),
    title: label,
  });
  chip.append(make("span", "mark", MARKS[source] ?? "✓"), makeToken("span", "label", label));
  cell.append(tie(chip, round.i, index, id));
  return cell;
}

/** Before the first round: the shape that a round will have. */
function emptyRound(view) {
  const any = view.store.rounds.length > 0;
  const title = make("h3", "", any ? "Before the first round" : "Nothing drafted yet");
  const words = any
    ? "The prompt has been read. Go on to round 1, or drag in the carpet below."
    : "The prompt is ready. “Next round” lets the draft guess and the target check, and adds the tokens that pass.";
  const grid = make("div", "grid");
  grid.style.setProperty("--places", GHOSTS);
  grid.append(
    make("p", "lane-title by-draft drafting", "First the draft guesses a few tokens, one at a time"),
    make("div", "pass"),
    make("p", "lane-title by-target checking", "Then the target checks them all, and one place more, in a single pass"),
  );
  for (let index = 0; index < GHOSTS; index += 1) grid.append(...ghostCells(index));
  return [fill(make("header"), title), grid, make("p", "sum", words)];
}

function ghostCells(index) {
  const step = make("div", "step by-draft", null, { "aria-hidden": "true" });
  if (index < GHOSTS - 1) step.append(make("div", "ghost"));
  const test = make("div", "test by-target", null, { "aria-hidden": "true" });
  test.append(make("div", "ghost"));
  for (const cell of [step, test]) cell.style.setProperty("--i", index + 1);
  return [step, test];
}
