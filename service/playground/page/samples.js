/** The samples: three drawn images, texts about them, and three instructions. */

import { inputs, imageItem, textItem } from "./items.js";

const IMAGES = ["red-circle-blue-square", "three-green-stars", "yellow-ring-purple-cross-black-triangle"];
const TEXTS = ["red and blue", "green", "star", "circle and square", "three objects", "two objects"];
const QUERY = "green stars";
const INSTRUCTIONS = [
  "Represent the colors of the image.",
  "Represent the shapes of the image.",
  "Represent the number of objects in the image.",
];

/**
 * Put the samples in place of what is there.
 * @param {{images: boolean, instructions: boolean}} takes what the model takes
 */
export async function loadSamples(takes) {
  const names = takes.images ? IMAGES : [];
  const images = await Promise.all(
    names.map(async (name) => {
      const response = await fetch(new URL(`./samples/${name}.png`, import.meta.url));
      return imageItem(await response.blob(), `${name}.png`);
    }),
  );
  inputs.items = [...images, ...TEXTS.map(textItem)];
  inputs.instructions = takes.instructions ? [...INSTRUCTIONS] : [""];
  inputs.textsOnce = true;
  [inputs.query, inputs.queryInstruction] = [QUERY, ""];
}
