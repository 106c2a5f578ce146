/* What only the browser can do for the page: look again after a while, notice another theme, fold the side panel away. */

const ASK_AGAIN_AFTER = 2000;
const NARROW = 720;
const KNOWN = new WeakMap();

/** On a narrow screen the side panel lies over the run, so it goes once a run has started. */
function foldPanel() {
  if (window.innerWidth > NARROW) return;
  document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
}

export default function (component) {
  const { parentElement, data } = component;
  const [after, runs] = data;
  const theme = getComputedStyle(parentElement.host ?? parentElement).getPropertyValue("--st-background-color");
  const known = KNOWN.get(parentElement) ?? { theme, runs };
  KNOWN.set(parentElement, known);
  clearTimeout(known.timer);
  const ask = () => {
    if (!leaving()) component.setTriggerValue("tick", true);
    known.timer = setTimeout(ask, ASK_AGAIN_AFTER); // should the question or its answer get lost
  };
  if (runs !== known.runs) foldPanel();
  if (theme !== known.theme) ask();
  else if (after !== null) known.timer = setTimeout(ask, after);
  Object.assign(known, { theme, runs });
  return () => clearTimeout(known.timer);
}
