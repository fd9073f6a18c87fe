/** Elements without markup: nothing on this page ever becomes HTML by being read as text. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {string | number | boolean | null | undefined | EventListener} Value
 * @typedef {Node | string | null} Child
 */

/**
 * @param {Element} made
 * @param {Record<string, Value>} attributes `onclick` and so on are listeners; false, null and undefined leave one out
 * @param {Child[]} children
 */
function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null));
}

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, Value>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  filled(made, attributes, children);
  return made;
}

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, Value>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  filled(made, attributes, children);
  return made;
}

/**
 * An element of the page, of a kind that is certain.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} called ${id}`);
  return found;
}

/**
 * What may be wider than the screen, in a frame of its own that the keyboard can scroll.
 * @param {string} name
 * @param {Node} wide
 */
export function scrollable(name, wide) {
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, wide);
}

const [LEAST_ROOM, MOST_ROOM] = [300, 832];

/**
 * How wide a drawing in `place` can be, in pixels of the screen, so that its letters keep their size.
 * @param {HTMLElement} place
 */
export function roomOf(place) {
  return Math.min(MOST_ROOM, Math.max(LEAST_ROOM, place.clientWidth));
}

/**
 * An image's thumbnail, or the letter that stands for a text.
 * @param {import("./types.js").Item} item
 */
export function thumbnail(item) {
  return item.image === null
    ? element("span", { class: "thumb letter", "aria-hidden": "true" }, "T")
    : element("img", { class: item.page ? "thumb page" : "thumb", src: item.image, alt: "" });
}
