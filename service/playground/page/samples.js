/** The samples: three drawn images, texts about them, and three instructions; of a text model, texts of everyday. */

import { inputs, imageItem, textItem } from "./items.js";

const IMAGES = ["red-circle-blue-square", "three-green-stars", "yellow-ring-purple-cross-black-triangle"];
const TEXTS = ["red and blue", "green", "star", "circle and square", "three objects", "two objects"];
const QUERY = "green stars";

/** For a model of texts: pairs that mean nearly the same and share hardly a word. */
const EVERYDAY = [
  "How do I reset my password?", "I cannot log in to my account any more.", "Where can I download the invoice for March?",
  "Last month's bill is missing.", "Our flight to Lisbon was cancelled.", "The plane to Portugal will not leave today.",
  "A simple recipe for tomato soup", "What to cook with ripe tomatoes",
];
const EVERYDAY_QUERY = "forgotten login";
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
  inputs.items = [...images, ...(takes.images ? TEXTS : EVERYDAY).map(textItem)];
  inputs.instructions = takes.images && takes.instructions ? [...INSTRUCTIONS] : [""];
  inputs.textsOnce = true;
  [inputs.query, inputs.queryInstruction] = [takes.images ? QUERY : EVERYDAY_QUERY, ""];
}
