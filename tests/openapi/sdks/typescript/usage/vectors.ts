/** Vectors of an image with a text, in every form in which they can be asked for and answered. */
import { assert, assertClose, assertUnitVector, isType, numbersOf } from "../assertions.js";
import { createEmbedding, embed } from "./client.js";
import type {
  Client,
  ContentParts,
  Conversation,
  EmbeddingData,
  EmbeddingRequest,
  EmbeddingResponse,
} from "./client.js";

export const INSTRUCTION = "Represent the colors of the image.";
export const DIMENSIONS = 64;

/** An image and a text, in this order. */
export function fused(image: string): ContentParts {
  return [
    { type: "image_url", image_url: { url: image } },
    { type: "text", text: "a red circle" },
  ];
}

/** The only vector of an answer, as it is written. */
export async function embedding(client: Client, body: EmbeddingRequest): Promise<number[] | string> {
  const { data, error } = await createEmbedding({ client, body });
  isType<EmbeddingResponse | undefined>()(data);
  assert(data !== undefined, `an answer, not ${error?.error.message}`);
  isType<number>()(data.usage.image_tokens);
  isType<number>()(data.usage.prompt_tokens_details.cached_tokens);
  const [entry] = data.data;
  isType<EmbeddingData | undefined>()(entry);
  assert(entry !== undefined && data.data.length === 1, "one vector");
  isType<number[] | string | null>()(entry.embedding);
  assert(entry.embedding !== null, "null is only there when `on_error` asked for it");
  return entry.embedding;
}

export async function inputsGiveAVector(client: Client, image: string): Promise<readonly number[]> {
  const inputs = [{ content: fused(image) }];
  const numbers = await embedding(client, { inputs, instruction: INSTRUCTION, dimensions: DIMENSIONS });
  assert(typeof numbers !== "string", "numbers when nothing is said");
  assertUnitVector(numbers, DIMENSIONS);
  return numbers;
}

export async function base64HoldsTheSame(client: Client, image: string, want: readonly number[]): Promise<void> {
  const body = { inputs: [{ content: fused(image) }], instruction: INSTRUCTION, dimensions: DIMENSIONS };
  const written = await embedding(client, { ...body, encoding_format: "base64" });
  assert(typeof written === "string", "base64 when asked for");
  assertClose(numbersOf(written), want);
}

export async function messagesGiveTheSame(client: Client, image: string, want: readonly number[]): Promise<void> {
  const turns: Conversation = [
    { role: "system", content: [{ type: "text", text: INSTRUCTION }] },
    { role: "user", content: fused(image) },
  ];
  assertClose(numbersOf(await embedding(client, { messages: turns, dimensions: DIMENSIONS })), want);
  assertClose(numbersOf(await embedding(client, { messages: [turns], dimensions: DIMENSIONS })), want);
}

export async function cohereGivesTheSame(client: Client, image: string, want: readonly number[]): Promise<void> {
  const { data } = await embed({
    client,
    body: {
      inputs: [{ content: fused(image) }],
      instruction: INSTRUCTION,
      output_dimension: DIMENSIONS,
      embedding_types: ["float", "ubinary"],
    },
  });
  isType<number[][] | undefined>()(data?.embeddings.float);
  isType<number[][] | undefined>()(data?.embeddings.ubinary);
  assertClose(data?.embeddings.float?.[0] ?? [], want);
  assert(data?.embeddings.ubinary?.[0]?.length === DIMENSIONS / 8, "eight components to a number");
  assert(data.embeddings.int8 === undefined, "no format but those asked for");
}

export async function textsKeepTheirOrder(client: Client): Promise<void> {
  const one = numbersOf(await embedding(client, { input: "a red circle" }));
  const { data, response } = await createEmbedding({ client, body: { input: ["a red circle", ""] } });
  assert(data?.data.map((entry) => entry.index).join() === "0,1", "entries in order");
  assertClose(numbersOf(data.data[0]?.embedding ?? []), one);
  assert(response.headers.get("x-request-id") === data.id.replace("embd-", ""), "the id of the answer");
}
