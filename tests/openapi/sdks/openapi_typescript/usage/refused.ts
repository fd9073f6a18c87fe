/** Requests that are wrong, and that the compiler must refuse. */
import type { Client, Schemas } from "./client.js";
import { fused } from "./vectors.js";

/** Never run: each line is an error, or the comment above it is. */
export async function wrongRequestsDoNotCompile(client: Client, image: string): Promise<void> {
  const path = "/v1/embeddings";
  // @ts-expect-error a part is an object
  await client.POST(path, { body: { inputs: [{ content: ["a bare text"] }] } });
  // @ts-expect-error there is no such part
  await client.POST(path, { body: { inputs: [{ content: [{ type: "audio", audio: image }] }] } });
  // @ts-expect-error a text part holds `text`
  await client.POST(path, { body: { inputs: [{ content: [{ type: "text", image_url: image }] }] } });
  // @ts-expect-error a part says its type
  await client.POST(path, { body: { inputs: [{ content: [{ text: "x" }] }] } });
  // @ts-expect-error nobody has this role
  await client.POST(path, { body: { messages: [{ role: "robot", content: fused(image) }] } });
  // @ts-expect-error vectors are not written so
  await client.POST(path, { body: { input: "x", encoding_format: "float16" } });
  // @ts-expect-error token ids are not taken
  await client.POST(path, { body: { input: [[1, 2]] } });
  // @ts-expect-error null is absent, and absent is left out
  await client.POST(path, { body: { input: "x", instruction: null } });
  // @ts-expect-error Cohere's formats are others
  await client.POST("/v2/embed", { body: { texts: ["x"], embedding_types: ["float64"] } });
  // openapi-fetch infers the type of what it is given, so unknown fields are found where the body says what it is.
  // @ts-expect-error the field is called `dimensions`
  await client.POST(path, { body: { input: "x", dimension: 64 } satisfies Schemas["EmbeddingRequest"] });
  // @ts-expect-error a text part has no `detail`
  const part: Schemas["ContentPart"] = { type: "text", text: "x", detail: "auto" };
  await client.POST(path, { body: { inputs: [{ content: [part] }] } });
  // @ts-expect-error there is no such route
  await client.POST("/v1/embedings", { body: { input: "x" } });
  // @ts-expect-error an item fails alone, or all do
  await client.POST("/v1/embeddings", { body: { input: "x", on_error: "per_batch" } });
  // @ts-expect-error a text has no features
  await client.POST("/v1/image_embeds", { body: { images: [{ type: "text", text: "x" }] } });
  // @ts-expect-error files of torch.save are not written
  await client.POST("/v1/image_embeds", { body: { images: [], features_format: "pt" } });
  // @ts-expect-error token ids are tokens already
  await client.POST("/tokenize", { body: { input: [[1, 2]] } });
  // @ts-expect-error token ids are numbers
  await client.POST("/detokenize", { body: { tokens: ["a", "b"] } });
  // @ts-expect-error a query is needed
  await client.POST("/v1/rerank", { body: { documents: ["x"] } });
  // @ts-expect-error a text is a string
  await client.POST("/score", { body: { queries: ["x"], documents: [{ text: 5 }] } });
  const { data } = await client.POST(path, { body: { input: "x" } });
  // @ts-expect-error answers are open, and still this field is called `embedding`
  data?.data[0]?.vector;
}
