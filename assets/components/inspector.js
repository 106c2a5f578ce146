/* One place in detail: bars over its top tokens, and how the target's own token is drawn. */

const LOG_FLOOR = 1e-4;
const LINEAR_ENDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1];
const LOG_TICKS = [[1e-4, "0.01 %"], [1e-3, ""], [1e-2, "1 %"], [1e-1, ""], [1, "100 %"]];

const LEFT_OVER =
  "What the target gives its tokens beyond what the draft gave them, (p − q)₊, made to sum to 1. " +
  "The token that stands in for a rejected draft is drawn from it.";
const WHOLE = "All tokens side by side, each as wide as its probability under the target.";
const DICE = "A random number from 0 to 1: the token under the arrow is the one drawn.";

function makeInspectorPanel(view) {
  view.inspector = make("section", "panel inspector", null, { "aria-label": "One place in detail" });
  view.scale = "linear";
  view.expanded = null;
  return view.inspector;
}

function drawInspector(view) {
  const round = currentRound(view);
  const index = placeInView(view);
  const name = round ? `${round.i}/${index}` : null;
  if (view.expanded !== name) view.expanded = null;
  const facts = [view.store.run, name, view.scale, view.expanded, view.store.details.has(name)];
  redraw(view, "inspector", facts, () => drawPlace(view, round, index));
}

function drawPlace(view, round, index) {
  if (!round || index === null) {
    const words = "Choose a place of a round to see which tokens the two models thought of.";
    fill(view.inspector, fill(make("header"), make("h3", "", "One place")), make("p", "note", words));
    return;
  }
  const place = round.places[index];
  const held = view.inspector.querySelector(".more:focus");
  const full = view.expanded ? view.store.details.get(view.expanded) : null;
  const shown = full ?? place;
  fill(
    view.inspector,
    fill(make("header"), makeToken("h3", "", place.head), scaleToggle(view)),
    place.top.length ? barTable(view, round, index, shown) : make("p", "note", "This round was not recorded in full."),
    shown.strip ? drawStrip(view, round, index, shown) : null,
    place.note ? make("p", "note", place.note) : null,
  );
  if (held) view.inspector.querySelector(".more")?.focus();
}

function scaleToggle(view) {
  const group = make("div", "toggle", null, { role: "group", "aria-label": "Scale of the bars" });
  for (const scale of ["linear", "log"]) {
    const button = make("button", "", scale, { type: "button", "aria-pressed": String(view.scale === scale) });
    button.onclick = () => {
      view.scale = scale;
      drawInspector(view);
      view.inspector.querySelector(`[aria-pressed="true"]`).focus();
    };
    group.append(button);
  }
  return group;
}

/** Switches between the most telling tokens and all that were recorded. */
function moreButton(view, round, index, others) {
  const open = view.expanded !== null;
  const words = open ? "show fewer" : `${others.toLocaleString("en")} others…`;
  const button = make("button", "more rest", words, { type: "button", "aria-expanded": String(open) });
  button.onclick = () => {
    view.expanded = open ? null : `${round.i}/${index}`;
    if (!open) askForDetail(view, round.i, index);
    drawInspector(view);
  };
  return button;
}

/** Where on the axis a probability lies, 0 to 1. */
function onAxis(view, value, end) {
  if (view.scale === "linear") return value / end;
  return value <= LOG_FLOOR ? 0 : 1 - Math.log10(value) / Math.log10(LOG_FLOOR);
}

function barTable(view, round, index, shown) {
  const largest = Math.max(...shown.top.map(([, , q, p]) => Math.max(q ?? 0, p ?? 0)));
  const end = LINEAR_ENDS.find((each) => each >= largest) ?? 1;
  const drafted = round.places[index].q !== undefined && index < round.k;
  const leftOver = shown.strip?.residual ? " left-over" : "";
  const table = make("div", `bars${leftOver}${shown.top.length > 8 ? " many" : ""}`);
  table.append(
    make("span", "column"),
    make("span", "column axis-name", "probability"),
    make("span", "column by-draft", drafted ? "draft q" : ""),
    make("span", "column by-target", "target p"),
  );
  shown.top.forEach((row) => table.append(...barRow(view, round, index, row, end)));
  table.append(make("span", "axis-end"), axis(view, end), make("span", "axis-end"), make("span", "axis-end"));
  if (shown.rest) table.append(...restRow(view, round, index, shown.rest, drafted));
  return table;
}

function barRow(view, round, index, [id, label, q, p, qs, ps], end) {
  const { drafted, emitted } = standing(round, index);
  const isDraft = drafted.id === id && index < round.k;
  const isOut = emitted !== null && emitted[3] === id;
  const name = tie(makeToken("span", `label${isOut ? " out" : ""}`, label, { title: label }), round.i, index, id);
  if (isOut && MARKS[emitted[2]]) name.append(make("span", "mark", ` ${MARKS[emitted[2]]}`));
  if (isDraft && drafted.v === VERDICT.REJECTED) markRejected(name, label);
  const plot = tie(make("span", "plot"), round.i, index, id);
  const [qAt, pAt] = [q ?? 0, p ?? 0].map((value) => onAxis(view, value, end));
  if (q !== null) plot.append(barPart("draft-bar", 0, qAt));
  if (pAt > qAt) plot.append(barPart("overhang", qAt, pAt));
  if (p !== null) plot.append(barPart("target-outline", 0, pAt));
  return [name, plot, make("span", "number by-draft", index < round.k ? qs : ""), make("span", "number by-target", ps)];
}

function markRejected(name, label) {
  if (canBeStruck(label)) name.classList.add("struck");
  else name.prepend(make("span", "mark", "✕ "));
}

function barPart(className, from, to) {
  const part = make("span", className);
  part.style.left = share(from);
  part.style.width = share(to - from);
  return part;
}

/** The axis of the bars. */
function axis(view, end) {
  const line = make("span", "axis", null, { "aria-hidden": "true" });
  const percent = (value) => `${Number((100 * value).toPrecision(3))} %`;
  const ticks = view.scale === "log" ? LOG_TICKS : [0, end / 2, end].map((value) => [value, percent(value)]);
  for (const [value, words] of ticks) {
    const tick = make("span", "tick");
    tick.style.left = share(onAxis(view, value, end));
    line.append(fill(tick, make("span", "tick-name", words)));
  }
  return line;
}

function restRow(view, round, index, [count, qs, ps], drafted) {
  return [
    moreButton(view, round, index, count),
    make("span", "rest"),
    make("span", "number rest by-draft", drafted ? qs : ""),
    make("span", "number rest by-target", ps),
  ];
}

/** The law of the target's own token stretched to 0..1, with the dart that draws it. */
function drawStrip(view, round, index, { strip, top }) {
  const labels = new Map(top.map(([id, label]) => [id, label]));
  const bar = make("div", `strip${strip.residual ? " left-over" : ""}`);
  for (const [id, width] of strip.segs) {
    const segment = make("span", id === strip.own ? "segment drawn" : id < 0 ? "segment others" : "segment");
    segment.style.width = share(width);
    const words = id < 0 ? "all other tokens" : labels.get(id) ?? "";
    segment.title = words;
    if (width > 0.16) segment.append(makeToken("span", "label", id < 0 ? "others" : words));
    bar.append(id < 0 ? segment : tie(segment, round.i, index, id));
  }
  const dart = make("span", "dart", null, { "aria-hidden": "true" });
  dart.style.left = share(strip.u);
  bar.append(dart);
  return fill(make("div", "draw"), stripHead(strip), bar);
}

function stripHead(strip) {
  const name = strip.residual ? "left over by the target, stretched to 1" : "the target's whole distribution";
  const dice = `${strip.residual ? "second dice" : "dice"} ${strip.us}`;
  return fill(
    make("div", "strip-head"),
    make("span", "by-target", name, { title: strip.residual ? LEFT_OVER : WHOLE }),
    make("span", "", dice, { title: DICE }),
  );
}
