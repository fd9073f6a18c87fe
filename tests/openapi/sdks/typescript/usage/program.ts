/**
 * What a program does with the generated types, whichever generator wrote them: `client.ts` has its names for them.
 *
 * `isType` states what a reader of the document expects; `@ts-expect-error` states what must be refused, and is itself
 * an error on a line that is right. Run, the program holds the answers against each other.
 */
import type { Client } from "./client.js";
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

/** Ask in every form.
 *
 * @returns the vector that they all give
 */
export async function useAll(client: Client, image: string): Promise<readonly number[]> {
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
  return want;
}
