/**
 * A program written against the generated types, as a user would: `node usage/main.js URL IMAGE`.
 *
 * `isType` states what a reader of the document expects; `@ts-expect-error` states what must be refused, and is itself
 * an error on a line that is right. Run, the program holds the answers against each other.
 */
import { readFileSync } from "node:fs";

import createClient from "openapi-fetch";

import { assert } from "../assertions.js";
import type { paths } from "../cenote.js";
import type { Json } from "./client.js";
import { errorsAreTyped, itemsHaveErrorsOfTheirOwn } from "./failures.js";
import { featuresGiveTheSame } from "./features.js";
import { modelsAreTyped } from "./models.js";
import { bytesHoldTheSame } from "./raw.js";
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
  const client = createClient<paths, Json>({ baseUrl: url, headers: { authorization: "Bearer any" } });
  const image = `data:image/png;base64,${readFileSync(imagePath).toString("base64")}`;
  const want = await inputsGiveAVector(client, image);
  await base64HoldsTheSame(client, image, want);
  await messagesGiveTheSame(client, image, want);
  await cohereGivesTheSame(client, image, want);
  await textsKeepTheirOrder(client);
  await bytesHoldTheSame(client, image, want);
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
