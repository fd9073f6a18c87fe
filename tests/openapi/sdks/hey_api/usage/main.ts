/**
 * A program written against the generated functions, as a user would: `node usage/main.js URL PICTURE`.
 *
 * `isType` states what a reader of the document expects; `@ts-expect-error` states what must be refused, and is itself
 * an error on a line that is right. Run, the program holds the answers against each other.
 *
 * Not used are raw bytes (`Accept: application/octet-stream`): of an answer with two media types the generator writes
 * down JSON alone, so the bytes would have its type.
 */
import { readFileSync } from "node:fs";

import { assert } from "../assertions.js";
import { createClient } from "../cenote/client/index.js";
import { errorsAreTyped, itemsHaveErrorsOfTheirOwn } from "./failures.js";
import { featuresGiveTheSame } from "./features.js";
import { modelsAreTyped } from "./models.js";
import { tokensAreTextAgain, tokensOfAPictureAreCounted } from "./tokens.js";
import {
  base64HoldsTheSame,
  cohereGivesTheSame,
  inputsGiveAVector,
  messagesGiveTheSame,
  textsKeepTheirOrder,
} from "./vectors.js";

async function main(url: string, picturePath: string): Promise<void> {
  const client = createClient({ baseUrl: url, headers: { authorization: "Bearer any" } });
  const picture = `data:image/png;base64,${readFileSync(picturePath).toString("base64")}`;
  const want = await inputsGiveAVector(client, picture);
  await base64HoldsTheSame(client, picture, want);
  await messagesGiveTheSame(client, picture, want);
  await cohereGivesTheSame(client, picture, want);
  await textsKeepTheirOrder(client);
  await featuresGiveTheSame(client, picture, want);
  await tokensOfAPictureAreCounted(client, picture);
  await tokensAreTextAgain(client);
  await errorsAreTyped(client);
  await itemsHaveErrorsOfTheirOwn(client, picture, want);
  await modelsAreTyped(client);
}

const [, , url, picturePath] = process.argv;
assert(url !== undefined && picturePath !== undefined, "a URL and a picture are given");
await main(url, picturePath);
