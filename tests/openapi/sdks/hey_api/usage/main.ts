/**
 * A program written against the generated functions, as a user would: `node usage/main.js URL IMAGE`.
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
import { errorsOfRerankingAreTyped, rerankGivesTheSame, teiGivesTheSame } from "./scores.js";
import { tokensAreTextAgain, tokensOfAnImageAreCounted } from "./tokens.js";
import {
  base64HoldsTheSame,
  cohereGivesTheSame,
  inputsGiveAVector,
  messagesGiveTheSame,
  textsKeepTheirOrder,
} from "./vectors.js";

async function main(url: string, imagePath: string): Promise<void> {
  const client = createClient({ baseUrl: url, headers: { authorization: "Bearer any" } });
  const image = `data:image/png;base64,${readFileSync(imagePath).toString("base64")}`;
  const want = await inputsGiveAVector(client, image);
  await base64HoldsTheSame(client, image, want);
  await messagesGiveTheSame(client, image, want);
  await cohereGivesTheSame(client, image, want);
  await textsKeepTheirOrder(client);
  await featuresGiveTheSame(client, image, want);
  await tokensOfAnImageAreCounted(client, image);
  await tokensAreTextAgain(client);
  await rerankGivesTheSame(client, image);
  await teiGivesTheSame(client);
  await errorsAreTyped(client);
  await itemsHaveErrorsOfTheirOwn(client, image, want);
  await errorsOfRerankingAreTyped(client, image);
  await modelsAreTyped(client);
}

const [, , url, imagePath] = process.argv;
assert(url !== undefined && imagePath !== undefined, "a URL and an image are given");
await main(url, imagePath);
