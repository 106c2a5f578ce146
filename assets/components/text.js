/* The running text: whole characters, a seam before each round, and who each token came from. */

const TEXT_LINE = 28;
const WORD_JOINER = "\u2060";
const LETTER_AT_END = /[\p{L}\p{M}\p{N}]$/u;
const LETTER_AT_START = /^[\p{L}\p{M}\p{N}]/u;
const MARKS = { [SOURCE.CORRECTION]: "↺", [SOURCE.BONUS]: "★" };
const CLASSES = { [SOURCE.KEPT]: "kept", [SOURCE.CORRECTION]: "own", [SOURCE.BONUS]: "own" };

function makeTextPanel(view) {
  // From left to right whatever the language: tokens stand in the order in which they came.
  view.flow = make("div", "flow", null, { dir: "ltr", role: "group", "aria-label": "Text of the run" });
  view.unfold = make("button", "unfold", null, { type: "button", hidden: "" });
  view.unfold.onclick = () => unfoldText(view, !view.flow.classList.contains("whole"));
  view.legend = make("div", "legend");
  return fill(make("section", "panel text"), view.flow, view.unfold, view.legend);
}

/** Adds the rounds that are not on screen yet and moves the mark to the cursor's. */
function drawText(view) {
  const { rounds, run } = view.store;
  if (view.flow.dataset.run !== run || view.spans.length > rounds.length) startText(view);
  const added = document.createDocumentFragment();
  for (let index = view.spans.length; index < rounds.length; index += 1) {
    const span = makeRoundText(rounds[index], textBefore(view, index));
    view.spans.push(span);
    added.append(span);
  }
  view.flow.append(added);
  markText(view);
}

function startText(view) {
  view.flow.dataset.run = view.store.run;
  view.spans = [];
  view.markedRound = null;
  fill(view.flow, makeToken("span", "prompt", visible(blanks(view.data.head.prompt))));
  fill(view.legend, ...legendItems(), make("span", "sentence", view.data.head.sentence));
}

/** Line breaks as a sign, so that a tale does not take the whole page. */
const visible = (text) => text.replaceAll("\n", "⏎").replaceAll("\t", "⇥");

/** Spaces as dots wherever a browser would not show them: at the ends of a text, and all but the first in a row. */
const blanks = (text) =>
  text.replace(/^ +| +$/g, (all) => "·".repeat(all.length)).replace(/(?<= ) +/g, (all) => "·".repeat(all.length));

/** The tokens of a round behind their seam, which is joined to the first; a space before it is before the seam. */
function makeRoundText(round, before) {
  const span = make("span", "round", null, { "data-round": round.i });
  const inside = LETTER_AT_END.test(before) && LETTER_AT_START.test(textOf(round));
  const seam = make("span", inside ? "seam inside" : "seam", WORD_JOINER, { "aria-hidden": "true" });
  const [space = "", ...tokens] = round.out.flatMap((out, place) => makeTextToken(round, place, out));
  return fill(span, space, seam, ...tokens);
}

/** Whether a line through a token leaves it readable: a lone comma becomes a semicolon, a lone letter a blot. */
const canBeStruck = (label) => /[\p{L}\p{N}].*[\p{L}\p{N}]/u.test(label);

const textOf = (round) => round.out.map(([text]) => text).join("");

/** What a round's text follows: a seam in the middle of a word must not look like a space. */
function textBefore(view, index) {
  return index ? textOf(view.store.rounds[index - 1]) : view.data.head.prompt;
}

/**
 * A token and the spaces around it. Spaces are outside the mark and nothing else keeps tokens apart,
 * so that the parts of a word read as one; a blank token is shown as a sign. An inline element with
 * the role of a button, since the box of a real one could not be broken or joined like text.
 */
function makeTextToken(round, place, [text, , source, id]) {
  if (text === "") return [];
  const blank = text.replaceAll(" ", "") === "";
  const space = (there) => (there && !blank ? " " : "");
  const token = makeToken("span", `token ${CLASSES[source]}`, null, {
    role: "button",
    tabindex: -1,
    "aria-label": spokenToken(round, place, source),
  });
  if (MARKS[source]) token.append(make("span", "mark", MARKS[source]));
  token.append(visible(blanks(blank ? text : text.replace(/^ | $/g, ""))));
  return [space(text.startsWith(" ")), tie(token, round.i, place, id), space(text.endsWith(" "))];
}

function spokenToken(round, place, source) {
  if (source === SOURCE.KEPT) return `round ${round.i + 1}, ${round.places[place].say}`;
  const own = { [SOURCE.BONUS]: round.k ? "when all were kept" : "when nothing was drafted" };
  const kind = `the target's own ${own[source] ?? "after a rejection"}`;
  return `round ${round.i + 1}, place ${place + 1}, "${round.out[place][1]}", ${kind}`;
}

/** The cursor's round stands out, what comes after it is in grey. */
function markText(view) {
  const at = view.store.cursor.round;
  view.spans.forEach((span, index) => {
    const state = index === at ? "round here" : index > at ? "round later" : "round";
    if (span.className !== state) span.className = state;
  });
}

/** Brings the cursor's round into sight. It asks for the layout, so it comes after all drawing. */
function followText(view) {
  const at = view.store.cursor.round;
  const span = view.spans[Math.max(at, 0)];
  if (!span || view.markedRound === at) return;
  view.markedRound = at;
  keepInSight(view.flow, at < 0 ? 0 : span.offsetTop, at < 0 ? 0 : span.offsetHeight);
  const whole = view.flow.classList.contains("whole");
  view.unfold.hidden = !view.narrow || (!whole && view.flow.scrollHeight <= view.flow.clientHeight + 1);
  view.unfold.textContent = whole ? "show less text" : "show all text";
}

function unfoldText(view, whole) {
  view.flow.classList.toggle("whole", whole);
  view.markedRound = null;
  followText(view);
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
    ["token own", "target's own, nothing rejected", "★"],
    ["token fell", "rejected", "✕"],
    ["token unseen", "computed, thrown away", ""],
  ];
  return items.map(([className, words, mark]) => {
    const item = make("span", className);
    return fill(item, mark ? make("span", "mark", mark, { "aria-hidden": "true" }) : null, make("span", "words", words));
  });
}
