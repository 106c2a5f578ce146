/* Putting the parts together: one view for each mounted element, redrawn when data or theme change. */

/** Views by the element they are mounted in. */
const VIEWS = new WeakMap();

function mount(parentElement) {
  const root = make("div", "run-view");
  const view = { root, spans: [], drawn: {}, lit: "", shape: null, store: null, dragging: false };
  const round = fill(make("div", "round-row"), makeLanesPanel(view), makeInspectorPanel(view));
  view.live = make("div", "for-screen-readers", null, { "aria-live": "polite" });
  fill(root, makeTextPanel(view), round, makeCarpetPanel(view), view.live);
  parentElement.append(root);
  handleReader(view);
  view.observer = new ResizeObserver(() => fitWidth(view));
  view.observer.observe(view.root);
  VIEWS.set(parentElement, view);
  return view;
}

const NARROW = 720;

/** Redraws what depends on the room there is. */
function fitWidth(view) {
  const narrow = view.root.clientWidth < NARROW;
  view.root.classList.toggle("narrow", narrow);
  view.narrow = narrow;
  view.markedRound = null;
  if (view.store) draw(view);
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
}

export default function (component) {
  const { parentElement, data } = component;
  if (!data) return undefined;
  const view = VIEWS.get(parentElement) ?? mount(parentElement);
  view.component = component;
  const { store, complete, moved } = receive(data);
  if (moved) clearTimeout(view.reporting);
  view.store = store;
  view.data = data;
  view.root.dataset.theme = themeOf(view.root);
  view.narrow = view.root.clientWidth < NARROW;
  view.root.classList.toggle("narrow", view.narrow);
  draw(view);
  if (!complete) askForMissing(view);
  return () => {
    view.observer.disconnect();
    clearTimeout(view.reporting);
    view.root.remove();
    VIEWS.delete(parentElement);
  };
}
