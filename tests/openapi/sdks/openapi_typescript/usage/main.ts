/**
 * A program written against the generated types, as a user would: `node usage/main.js URL PICTURE`.
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
import { tokensAreTextAgain, tokensOfAPictureAreCounted } from "./tokens.js";
import {
  base64HoldsTheSame,
  cohereGivesTheSame,
  inputsGiveAVector,
  messagesGiveTheSame,
  textsKeepTheirOrder,
} from "./vectors.js";

async function main(url: string, picturePath: string): Promise<void> {
  const client = createClient<paths, Json>({ baseUrl: url, headers: { authorization: "Bearer any" } });
  const picture = `data:image/png;base64,${readFileSync(picturePath).toString("base64")}`;
  const want = await inputsGiveAVector(client, picture);
  await base64HoldsTheSame(client, picture, want);
  await messagesGiveTheSame(client, picture, want);
  await cohereGivesTheSame(client, picture, want);
  await textsKeepTheirOrder(client);
  await bytesHoldTheSame(client, picture, want);
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
