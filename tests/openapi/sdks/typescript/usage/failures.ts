/** Errors: of a whole request, and of one item beside others that are well. */
import { assert, assertClose, isType, numbersOf } from "../assertions.js";
import { createEmbedding, embed } from "./client.js";
import type { Client, CohereErrorResponse, EmbeddingRequest, ErrorBody, ErrorCode, ErrorResponse } from "./client.js";
import { DIMENSIONS, fused, INSTRUCTION } from "./vectors.js";

const NO_IMAGE = "data:image/png;base64,bm90IGEgcGljdHVyZQ==";

export async function errorsAreTyped(client: Client): Promise<void> {
  const { error, response } = await createEmbedding({ client, body: { input: "x", dimensions: 4096 } });
  isType<ErrorResponse | undefined>()(error);
  assert(response.status === 400 && error !== undefined, "refused");
  isType<ErrorCode>()(error.error.code);
  isType<string | null>()(error.error.param);
  isType<number | null>()(error.error.index);
  // @ts-expect-error there is no such code
  assert(error.error.code !== "bad_dimensions", "never");
  assert(error.error.code === "invalid_dimensions" && error.error.param === "dimensions", error.error.message);
  const cohere = await embed({ client, body: { texts: ["x"], model: "none" } });
  isType<CohereErrorResponse | undefined>()(cohere.error);
  assert(cohere.error?.error.code === "model_not_found", "no such model");
}

export async function itemsHaveErrorsOfTheirOwn(
  client: Client,
  image: string,
  want: readonly number[],
): Promise<void> {
  const body: EmbeddingRequest = {
    inputs: [{ content: fused(NO_IMAGE) }, { content: fused(image) }],
    instruction: INSTRUCTION,
    dimensions: DIMENSIONS,
    on_error: "per_item",
  };
  const { data } = await createEmbedding({ client, body });
  const [bad, good] = data?.data ?? [];
  assert(bad !== undefined && good !== undefined, "an entry for each");
  isType<ErrorBody | undefined>()(bad.error);
  assert(bad.embedding === null && bad.error?.code === "media_undecodable" && bad.error.index === 0, "its own error");
  assert(good.embedding !== null && good.error === undefined, "the other item is well");
  assertClose(numbersOf(good.embedding), want);
}
