/** The pages of a PDF, rendered by the server: nothing on this page can, and the policy lets in nothing that could. */

import { ApiError, ask } from "./api.js";
import { base64, pageItem } from "./items.js";

/** @typedef {import("./types.js").Item} Item */

/** @param {File} file */
export function isPdf(file) {
  return file.type === "application/pdf" || /\.pdf$/i.test(file.name);
}

/**
 * The first pages of a PDF as items; the server says how many of them it gives.
 * @param {File} file
 * @param {string} model whose images they are to be
 * @returns {Promise<Item[]>} at least one
 * @throws {ApiError} a refusal, which names the file and the page
 */
export async function pageItems(file, model) {
  try {
    const { answer } = await ask("playground/pages", { model, file: { file_data: await base64(file) } });
    const pdf = { name: file.name, numPages: Number(answer.num_pages) };
    return answer.images.map((/** @type {string} */ image, /** @type {number} */ at) => pageItem(pdf, at + 1, image));
  } catch (error) {
    if (error instanceof ApiError) nameFile(error, file);
    throw error;
  }
}

/**
 * @param {ApiError} error
 * @param {File} file
 */
function nameFile(error, file) {
  if (error.param !== "file.file_data") return;
  const page = error.index ? `, page ${error.index + 1}` : ""; // of the first page it is the file's fault
  error.message = `${file.name}${page}: ${error.message.replace("`file.file_data`: ", "")}`;
  error.param = "";
}
