/* Putting the parts together: one view for each mounted element, redrawn when data or theme change. */

/** Views by the element they are mounted in. */
const VIEWS = new WeakMap();

/** The style sheet, which comes with the script. */
const STYLE = document.createElement("style");

function mount(parentElement) {
  const root = make("div", "run-view");
  const view = { root, spans: [], drawn: {}, reachable: {}, lit: "", shape: null, store: null, dragging: false };
  const round = fill(make("div", "round-row"), makeLanesPanel(view), makeInspectorPanel(view));
  view.live = make("div", "for-screen-readers", null, { "aria-live": "polite" });
  fill(root, STYLE.cloneNode(true), makeTextPanel(view), round, makeCarpetPanel(view), view.live);
  parentElement.append(root);
  handleReader(view);
  measure(view);
  view.observer = new ResizeObserver(() => fitWidth(view));
  view.observer.observe(view.root);
  VIEWS.set(parentElement, view);
  arrived();
  return view;
}

/** Pixels below which the parts stand below each other: beside an inspector, a round of six places needs more. */
const NARROW = 912;

/** Takes in the room there is and redraws what depends on it. */
function fitWidth(view) {
  measure(view);
  view.markedRound = null;
  if (view.store) draw(view);
}

/** Asked for only when the room changes: in the middle of drawing it would cost a layout each time. */
function measure(view) {
  view.narrow = view.root.clientWidth < NARROW;
  view.root.classList.toggle("narrow", view.narrow);
  view.room = view.carpetHead.clientWidth;
}

/** Brings every part up to date; each draws anew only what has changed. */
function draw(view) {
  drawText(view);
  const held = view.lanes.contains(view.root.getRootNode().activeElement);
  const another = drawLanes(view);
  drawInspector(view);
  drawCarpet(view);
  roveTabindex(view);
  if (another && held) view.lanes.querySelector('[tabindex="0"]')?.focus();
  if (another) hover(view, null);
  if (another && !view.dragging) view.live.textContent = currentRound(view)?.say ?? "";
  followText(view);
  tellOfRest(view);
}

/**
 * Shows what one message says.
 * @param {object} component what Streamlit hands to a component
 * @param {object} data the page's message: see run_view.py
 * @returns {function(): void} takes the view away
 */
export function show(component, data) {
  const { parentElement } = component;
  if (data.code) STYLE.textContent = data.code.style;
  const view = VIEWS.get(parentElement) ?? mount(parentElement);
  view.component = component;
  const { store, complete, moved } = receive(data);
  if (moved) clearTimeout(view.reporting);
  view.store = store;
  view.data = data;
  view.root.dataset.theme = themeOf(view.root);
  draw(view);
  if (complete) stopAsking(view);
  else askForMissing(view);
  return () => {
    view.observer.disconnect();
    stopAsking(view);
    clearTimeout(view.reporting);
    clearTimeout(view.resting);
    view.root.remove();
    VIEWS.delete(parentElement);
  };
}
