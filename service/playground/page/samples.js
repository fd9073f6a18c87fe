/** What one click shows: three drawn pictures, what can be said of them, and three instructions. */

import { inputs, pictureItem, textItem } from "./items.js";

const PICTURES = ["red-circle-blue-square", "three-green-stars", "yellow-ring-purple-cross-black-triangle"];
const TEXTS = ["red and blue", "green", "star", "circle and square", "three objects", "two objects"];
const INSTRUCTIONS = [
  "Represent the colors of the image.",
  "Represent the shapes of the image.",
  "Represent the number of objects in the image.",
];

/**
 * Put the samples in place of what is there.
 * @param {{pictures: boolean, instructions: boolean}} takes what the model takes
 */
export async function loadSamples(takes) {
  const names = takes.pictures ? PICTURES : [];
  const pictures = await Promise.all(
    names.map(async (name) => {
      const response = await fetch(new URL(`./samples/${name}.png`, import.meta.url));
      return pictureItem(await response.blob(), `${name}.png`);
    }),
  );
  inputs.items = [...pictures, ...TEXTS.map(textItem)];
  inputs.instructions = takes.instructions ? [...INSTRUCTIONS] : [""];
  inputs.textsOnce = true;
}
