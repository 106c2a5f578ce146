/* Building elements, and what the theme says. Text from data is only ever set as text. */

/**
 * An element with a class, a text and attributes.
 * @param {string} tag
 * @param {string} [className]
 * @param {string|null} [text] shown literally
 * @param {Object<string, string|number>} [attributes]
 */
function make(tag, className = "", text = null, attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== null) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** A token on its own: isolated from the direction of what stands around it. */
function makeToken(tag, className, text, attributes = {}) {
  return make(tag, className, text, { dir: "auto", ...attributes });
}

/** `element` with children; strings become text, empty values are left out. */
function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Marks an element as standing for a place, so that hovering and clicking find it. */
function tie(element, round, place, id = null) {
  element.dataset.r = round;
  element.dataset.p = place;
  if (id !== null) element.dataset.id = id;
  return element;
}

/** A share from 0 to 1 as a CSS length. */
const share = (value) => `${(100 * Math.min(Math.max(value, 0), 1)).toFixed(2)}%`;

/** Brightness of CSS colours met so far: finding it out means painting a pixel and reading it back. */
const BRIGHTNESS = new Map();

/** How bright a CSS colour is, 0 to 255. */
function brightness(colour) {
  if (!BRIGHTNESS.has(colour)) {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    BRIGHTNESS.set(colour, 0.2126 * red + 0.7152 * green + 0.0722 * blue);
  }
  return BRIGHTNESS.get(colour);
}

/** "dark" or "light", by how bright the page's background is. */
function themeOf(root) {
  const colour = getComputedStyle(root).getPropertyValue("--st-background-color").trim() || "#fff";
  return brightness(colour) < 128 ? "dark" : "light";
}

/** Draws a part only when what it depends on has changed, so that focus and hover survive. */
function redraw(view, part, facts, draw) {
  const signature = JSON.stringify(facts);
  if (view.drawn[part] === signature) return false;
  view.drawn[part] = signature;
  draw();
  return true;
}
