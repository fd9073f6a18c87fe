/**
 * A program written against the generated functions, as a user would: `node usage.js URL PICTURE`.
 *
 * `isType` states what a reader of the document expects; `@ts-expect-error` states what must be refused, and is itself
 * an error on a line that is right. Run, the program holds the answers against each other.
 */
import { readFileSync } from "node:fs";

import { assert, assertClose, assertUnitVector, isType, numbersOf } from "./assertions.js";
import { createClient, type Client } from "./cenote/client/index.js";
import { createEmbedding, embed, getModel, listModels } from "./cenote/index.js";
import type {
  CohereErrorResponse,
  ContentPart,
  ContentParts,
  Conversation,
  EmbeddingData,
  EmbeddingRequest,
  EmbeddingResponse,
  ErrorCode,
  ErrorResponse,
} from "./cenote/index.js";

const INSTRUCTION = "Represent the colors of the image.";
const DIMENSIONS = 64;

/** A picture and a text, in this order. */
function fused(picture: string): ContentParts {
  return [
    { type: "image_url", image_url: { url: picture } },
    { type: "text", text: "a red circle" },
  ];
}

/** The only vector of an answer, as it is written. */
async function embedding(client: Client, body: EmbeddingRequest): Promise<number[] | string> {
  const { data, error } = await createEmbedding({ client, body });
  isType<EmbeddingResponse | undefined>()(data);
  assert(data !== undefined, `an answer, not ${error?.error.message}`);
  isType<number>()(data.usage.image_tokens);
  const [entry] = data.data;
  isType<EmbeddingData | undefined>()(entry);
  assert(entry !== undefined && data.data.length === 1, "one vector");
  isType<number[] | string | null>()(entry.embedding);
  assert(entry.embedding !== null, "null is only there when `on_error` asked for it");
  return entry.embedding;
}

async function inputsGiveAVector(client: Client, picture: string): Promise<readonly number[]> {
  const inputs = [{ content: fused(picture) }];
  const numbers = await embedding(client, { inputs, instruction: INSTRUCTION, dimensions: DIMENSIONS });
  assert(typeof numbers !== "string", "numbers when nothing is said");
  assertUnitVector(numbers, DIMENSIONS);
  return numbers;
}

async function base64HoldsTheSame(client: Client, picture: string, want: readonly number[]): Promise<void> {
  const body = { inputs: [{ content: fused(picture) }], instruction: INSTRUCTION, dimensions: DIMENSIONS };
  const written = await embedding(client, { ...body, encoding_format: "base64" });
  assert(typeof written === "string", "base64 when asked for");
  assertClose(numbersOf(written), want);
}

async function messagesGiveTheSame(client: Client, picture: string, want: readonly number[]): Promise<void> {
  const turns: Conversation = [
    { role: "system", content: [{ type: "text", text: INSTRUCTION }] },
    { role: "user", content: fused(picture) },
  ];
  assertClose(numbersOf(await embedding(client, { messages: turns, dimensions: DIMENSIONS })), want);
  assertClose(numbersOf(await embedding(client, { messages: [turns], dimensions: DIMENSIONS })), want);
}

async function cohereGivesTheSame(client: Client, picture: string, want: readonly number[]): Promise<void> {
  const { data } = await embed({
    client,
    body: {
      inputs: [{ content: fused(picture) }],
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

async function textsKeepTheirOrder(client: Client): Promise<void> {
  const one = numbersOf(await embedding(client, { input: "a red circle" }));
  const { data, response } = await createEmbedding({ client, body: { input: ["a red circle", ""] } });
  assert(data?.data.map((entry) => entry.index).join() === "0,1", "entries in order");
  assertClose(numbersOf(data.data[0]?.embedding ?? []), one);
  assert(response.headers.get("x-request-id") === data.id.replace("embd-", ""), "the id of the answer");
}

async function errorsAreTyped(client: Client): Promise<void> {
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

async function modelsAreTyped(client: Client): Promise<void> {
  const models = await listModels({ client });
  const model_id = models.data?.data[0]?.id ?? "";
  const { data } = await getModel({ client, path: { model_id } });
  assert(data !== undefined, `a card of ${model_id}`);
  isType<"last_token" | "mean" | "cls">()(data.pooling);
  isType<number[] | null>()(data.matryoshka_dimensions);
  assert(data.modalities.includes("image"), "pictures are taken");
}

/** Never run: each line is an error, or the comment above it is. */
export async function wrongRequestsDoNotCompile(client: Client, picture: string): Promise<void> {
  // @ts-expect-error a part is an object
  await createEmbedding({ client, body: { inputs: [{ content: ["a bare text"] }] } });
  // @ts-expect-error there is no such part
  await createEmbedding({ client, body: { inputs: [{ content: [{ type: "audio", audio: picture }] }] } });
  // @ts-expect-error a text part holds `text`
  await createEmbedding({ client, body: { inputs: [{ content: [{ type: "text", image_url: picture }] }] } });
  // @ts-expect-error a part says its type
  await createEmbedding({ client, body: { inputs: [{ content: [{ text: "x" }] }] } });
  // @ts-expect-error nobody has this role
  await createEmbedding({ client, body: { messages: [{ role: "robot", content: fused(picture) }] } });
  // @ts-expect-error vectors are not written so
  await createEmbedding({ client, body: { input: "x", encoding_format: "float16" } });
  // @ts-expect-error token ids are not taken
  await createEmbedding({ client, body: { input: [[1, 2]] } });
  // @ts-expect-error null is absent, and absent is left out
  await createEmbedding({ client, body: { input: "x", instruction: null } });
  // @ts-expect-error Cohere's formats are others
  await embed({ client, body: { texts: ["x"], embedding_types: ["float64"] } });
  // @ts-expect-error the field is called `dimensions`
  await createEmbedding({ client, body: { input: "x", dimension: 64 } });
  // @ts-expect-error a text part has no `detail`
  const part: ContentPart = { type: "text", text: "x", detail: "auto" };
  await createEmbedding({ client, body: { inputs: [{ content: [part] }] } });
  // @ts-expect-error a model is asked for by its id
  await getModel({ client, path: { id: "builtin" } });
  const { data } = await createEmbedding({ client, body: { input: "x" } });
  // @ts-expect-error answers are open, and still this field is called `embedding`
  data?.data[0]?.vector;
}

async function main(url: string, picturePath: string): Promise<void> {
  const client = createClient({ baseUrl: url, headers: { authorization: "Bearer any" } });
  const picture = `data:image/png;base64,${readFileSync(picturePath).toString("base64")}`;
  const want = await inputsGiveAVector(client, picture);
  await base64HoldsTheSame(client, picture, want);
  await messagesGiveTheSame(client, picture, want);
  await cohereGivesTheSame(client, picture, want);
  await textsKeepTheirOrder(client);
  await errorsAreTyped(client);
  await modelsAreTyped(client);
}

const [, , url, picturePath] = process.argv;
assert(url !== undefined && picturePath !== undefined, "a URL and a picture are given");
await main(url, picturePath);
