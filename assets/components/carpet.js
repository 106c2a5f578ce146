/* All rounds at a glance: a column a round, a cell a place. Dragging over it moves the cursor. */

const CARPET = { left: 26, top: 4, bottom: 20, margin: 160, widest: 52, glyphsFrom: 11 };

function makeCarpetPanel(view) {
  view.canvas = make("canvas", "", null, { "aria-hidden": "true" });
  view.frame = make("div", "cursor-frame");
  view.spot = make("div", "spot", null, { hidden: "" });
  view.slider = fill(
    make("div", "field", null, { role: "slider", tabindex: 0, "aria-label": "Round", "aria-orientation": "horizontal" }),
    view.canvas,
    view.spot,
    view.frame,
  );
  view.margin = make("div", "margin");
  view.hint = make("span", "hint");
  view.told = make("span", "told");
  view.carpetHead = fill(make("header"), make("h3", "", "All rounds"), view.hint, view.told);
  handleScrub(view);
  view.carpetBody = fill(make("div", "carpet-body"), view.slider, view.margin);
  return fill(make("section", "panel carpet"), view.carpetHead, view.carpetBody);
}

/** Sizes of the carpet for the rounds there are and the room there is. */
function carpetShape(view) {
  const { rounds } = view.store;
  const rows = Math.max(1, ...rounds.map((round) => round.places.length));
  const columns = roomyCount(rounds.length);
  const room = view.room - CARPET.left - (view.narrow ? 0 : CARPET.margin);
  const column = Math.min(CARPET.widest, room / columns);
  const row = rows <= 7 ? 18 : 14;
  const width = CARPET.left + column * columns + 14;
  return { rows, column, columns, row, width, height: CARPET.top + rows * row + CARPET.bottom };
}

/** Width of a cell. */
const cellWidth = ({ column }) => Math.max(column - (column > 8 ? 2 : column > 4 ? 1 : 0), 0.5);

/** What tells the target's own tokens apart where there is no room for their marks. */
function hollowKey(shape) {
  if (cellWidth(shape) >= CARPET.glyphsFrom) return "";
  return ` · ${MARKS[SOURCE.BONUS]} filled, ${MARKS[SOURCE.CORRECTION]} hollow`;
}

/** Columns to make room for: an eighth more at most, so that new rounds seldom change the scale. */
function roomyCount(count) {
  const step = Math.max(1, 2 ** (Math.floor(Math.log2(Math.max(count, 1))) - 3));
  return Math.max(1, Math.ceil(count / step) * step);
}

/** Adds the columns of new rounds; starts over when the sizes, the colours or the run have changed. */
function drawCarpet(view) {
  const { run, rounds } = view.store;
  const none = rounds.length === 0;
  view.carpetBody.hidden = none;
  view.shape = carpetShape(view);
  view.hint.textContent = none ? "each round adds a column here" : `drag to scrub${hollowKey(view.shape)}`;
  view.frame.classList.remove("still");
  const facts = [run, view.root.dataset.theme, devicePixelRatio, view.shape];
  redraw(view, "carpet", facts, () => startCarpet(view));
  for (; view.columns < rounds.length; view.columns += 1) drawColumn(view, rounds[view.columns]);
  moveFrame(view);
}

function startCarpet(view) {
  const { canvas, shape } = view;
  view.frame.classList.add("still"); // in another scale it must not glide beside its round
  const ratio = devicePixelRatio || 1;
  canvas.width = shape.width * ratio;
  canvas.height = shape.height * ratio;
  canvas.style.width = `${shape.width}px`;
  canvas.style.height = `${shape.height}px`;
  view.pen = canvas.getContext("2d");
  view.pen.scale(ratio, ratio);
  view.pen.font = `11px ${getComputedStyle(view.root).fontFamily}`;
  view.pen.textBaseline = "middle";
  view.pen.textAlign = "center";
  view.colours = carpetColours(view);
  view.columns = 0;
  drawRowNumbers(view);
}

function carpetColours(view) {
  const style = getComputedStyle(view.root);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    ink: read("--ink"),
    grey: read("--grey"),
    line: read("--mark"),
    draft: read("--draft-fill"),
    draftLine: read("--draft-line"),
    target: read("--target-line"),
    targetText: read("--target-text"),
    surface: read("--surface"),
  };
}

function drawRowNumbers({ pen, shape, colours }) {
  pen.fillStyle = colours.grey;
  for (let row = 0; row < shape.rows; row += 1) {
    pen.fillText(String(row + 1), CARPET.left / 2 - 2, CARPET.top + (row + 0.5) * shape.row);
  }
}

/** Some rounds have their number below, as many as there is room for. */
function drawColumnNumber({ pen, shape, colours }, round) {
  const every = [1, 2, 5, 10, 20, 50, 100].find((step) => step * shape.column >= 24) ?? 200;
  if (round !== 1 && round % every) return;
  pen.fillStyle = colours.grey;
  pen.fillText(String(round), CARPET.left + (round - 0.5) * shape.column, shape.height - CARPET.bottom / 2 + 2);
}

function drawColumn(view, round) {
  const { pen, shape, colours } = view;
  const width = cellWidth(shape);
  const x = CARPET.left + round.i * shape.column + (shape.column - width) / 2;
  round.places.forEach((place, index) => {
    const box = [x, CARPET.top + index * shape.row + 1.5, width, shape.row - 3];
    const out = round.out[index];
    if (out && out[2] !== SOURCE.KEPT) drawOwn(pen, box, MARKS[out[2]], colours);
    else if (place.v === VERDICT.KEPT) drawKept(pen, box, colours);
    else if (place.v <= VERDICT.UNNEEDED) drawUnseen(pen, box, colours);
  });
  drawColumnNumber(view, round.i + 1);
}

function drawKept(pen, [x, y, width, height], colours) {
  pen.fillStyle = colours.draft;
  pen.fillRect(x, y, width, height);
  if (width < 4) return;
  pen.strokeStyle = colours.draftLine;
  pen.lineWidth = 1;
  pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
}

function drawOwn(pen, [x, y, width, height], mark, colours) {
  const marked = width >= CARPET.glyphsFrom;
  pen.fillStyle = pen.strokeStyle = colours.target;
  if (!marked && mark === MARKS[SOURCE.BONUS]) {
    pen.fillRect(x, y, width, height);
    return;
  }
  const line = Math.min(2, width / 3);
  pen.lineWidth = line;
  pen.strokeRect(x + line / 2, y + line / 2, width - line, height - line);
  if (!marked) return;
  pen.fillStyle = colours.ink;
  pen.save();
  if (width < 15) pen.font = pen.font.replace("11px", "8px");
  pen.fillText(mark, x + width / 2, y + height / 2 + 0.5);
  pen.restore();
}

function drawUnseen(pen, [x, y, width, height], colours) {
  if (width < 6) return;
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  pen.setLineDash([2, 2]);
  pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  pen.setLineDash([]);
}

/** Puts the frame on the cursor's round and the counts of survivors as of it beside. */
function moveFrame(view) {
  const { cursor, rounds } = view.store;
  const { shape } = view;
  placeBox(view.frame, shape, Math.max(cursor.round, 0), 0, shape.rows);
  view.frame.hidden = rounds.length === 0;
  view.frame.classList.toggle("before", cursor.round < 0);
  const round = rounds[cursor.round];
  view.slider.setAttribute("aria-valuemin", 0);
  view.slider.setAttribute("aria-valuemax", rounds.length);
  view.slider.setAttribute("aria-valuenow", cursor.round + 1);
  view.slider.setAttribute("aria-valuetext", round ? round.say : "before the first round");
  drawMargin(view, round);
}

function placeBox(box, shape, column, row, rows) {
  box.style.left = `${CARPET.left + column * shape.column - 1}px`;
  box.style.width = `${Math.max(shape.column, 3) + 2}px`;
  box.style.top = `${CARPET.top + row * shape.row - 1}px`;
  box.style.height = `${rows * shape.row + 2}px`;
}

/** Right margin: how many rounds came through each place, of those that drafted it. */
function drawMargin(view, round) {
  const rows = (round?.surv ?? []).map(([through, tried]) => {
    const line = make("div", "survived");
    line.style.height = `${view.shape.row}px`;
    const bar = make("span", "survival");
    bar.hidden = through === 0;
    bar.style.width = `${(46 * through) / Math.max(tried, 1)}px`;
    return fill(line, fill(make("span", "track"), bar), make("span", "", tried ? `${through} of ${tried}` : "–"));
  });
  fill(view.margin, rows.length ? make("div", "margin-name", "kept up to here") : null, ...rows);
}

/** The round and place under a pointer. */
function underPointer(view, event) {
  const box = view.slider.getBoundingClientRect();
  const { shape, store } = view;
  const column = Math.floor((event.clientX - box.left - CARPET.left) / shape.column);
  const row = Math.floor((event.clientY - box.top - CARPET.top) / shape.row);
  const round = Math.min(Math.max(column, 0), store.rounds.length - 1);
  const inside = column === round && row >= 0 && row < (store.rounds[round]?.places.length ?? 0);
  return { round, place: inside ? row : null };
}

function handleScrub(view) {
  const field = view.slider;
  field.onpointerdown = (event) => {
    if (event.button !== 0 || !view.store.rounds.length) return;
    field.setPointerCapture(event.pointerId);
    view.dragging = true;
    const { round, place } = underPointer(view, event);
    moveTo(view, round, place);
  };
  field.onpointermove = (event) => {
    if (view.dragging) moveTo(view, underPointer(view, event).round, null);
    else hoverCarpet(view, event);
  };
  field.onpointerup = field.onpointercancel = () => {
    if (!view.dragging) return;
    view.dragging = false;
    report(view, true);
  };
}

function hoverCarpet(view, event) {
  const { round, place } = underPointer(view, event);
  if (place === null) hover(view, null);
  else hover(view, { round, place, id: null });
}
