/** The controls of size and format, and figures of what the chosen pair costs in ranking. */

import { element } from "./element.js";
import { numNeighbors } from "./ranking.js";
import { FORMATS, FORMAT_NAMES, bytesOf } from "./sizes.js";

/**
 * @typedef {import("./types.js").Format} Format
 * @typedef {import("./types.js").Kept} Kept
 * @typedef {import("./chart.js").Mark} Mark
 */

/** @param {number} part */
const percent = (part) => `${Math.round(part * 100)} %`;

/**
 * @param {HTMLElement} place
 * @param {number[]} sizes ascending; the last is the model's own
 * @param {number} numRows
 * @param {(size: number, format: Format) => void} onChoice
 * @returns {(chosen: Mark) => void} shows what was found out
 */
export function drawCost(place, sizes, numRows, onChoice) {
  const whole = sizes[sizes.length - 1];
  const slider = element("input", { type: "range", id: "size", min: 0, max: sizes.length - 1, step: 1, oninput: () => choose() });
  const told = element("output", { for: "size", id: "size-told" });
  const radios = FORMATS.map((format) => element("input", { type: "radio", name: "format", value: format, onchange: () => choose() }));
  slider.value = String(sizes.length - 1);
  radios[0].checked = true;
  const formats = radios.map((radio, i) => element("label", {}, radio, element("span", {}, FORMAT_NAMES[FORMATS[i]])));
  const size = element("div", { class: "size" }, element("label", { for: "size" }, "Dimensions"), slider, told);
  const format = element("fieldset", { class: "formats" }, element("legend", {}, "Format"), ...formats);
  const figures = element("dl", { class: "figures" });
  place.replaceChildren(element("div", { class: "controls" }, size, format), figures);

  function choose() {
    const chosen = sizes[Number(slider.value)];
    const format = FORMATS[radios.findIndex((radio) => radio.checked)];
    told.textContent = `${chosen} of ${whole}`;
    slider.setAttribute("aria-valuetext", `${chosen} of ${whole} dimensions`);
    onChoice(chosen, format);
  }

  choose();
  return (chosen) => figures.replaceChildren(...figuresOf(chosen, whole, numRows));
}

/**
 * @param {Mark} chosen
 * @param {number} whole the model's own length
 * @param {number} numRows
 */
function figuresOf({ size, format, kept }, whole, numRows) {
  const bytes = bytesOf(size, format);
  const part = bytesOf(whole, "float") / bytes;
  const k = numNeighbors(numRows);
  return [
    figure("Bytes a vector", bytes.toLocaleString("en"), part === 1 ? "whole" : `1/${Number(part.toFixed(1))} of the whole`),
    figure("Nearest neighbor kept", percent(kept.nearest), "rows whose first hit is the same"),
    figure(`Neighbors kept, of ${k}`, percent(kept.neighbors), `recall at ${k} against whole float32`),
    figure("Order kept", kept.tau.toFixed(3), "Kendall’s τ of the whole ranking"),
  ];
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} about
 */
function figure(name, value, about) {
  return element("div", {}, element("dt", {}, name), element("dd", { class: "value" }, value), element("dd", { class: "soft" }, about));
}
