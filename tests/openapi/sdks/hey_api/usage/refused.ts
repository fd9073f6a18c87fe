/** Requests that are wrong, and that the compiler must refuse. */
import type { Client } from "../cenote/client/index.js";
import {
  createEmbedding,
  createImageEmbeds,
  createRerank,
  createScore,
  detokenizeTokens,
  embed,
  getModel,
  tokenizeInputs,
} from "../cenote/index.js";
import type { ContentPart } from "../cenote/index.js";
import { fused } from "./vectors.js";

/** Never run: each line is an error, or the comment above it is. */
export async function wrongRequestsDoNotCompile(client: Client, image: string): Promise<void> {
  // @ts-expect-error a part is an object
  await createEmbedding({ client, body: { inputs: [{ content: ["a bare text"] }] } });
  // @ts-expect-error there is no such part
  await createEmbedding({ client, body: { inputs: [{ content: [{ type: "audio", audio: image }] }] } });
  // @ts-expect-error a text part holds `text`
  await createEmbedding({ client, body: { inputs: [{ content: [{ type: "text", image_url: image }] }] } });
  // @ts-expect-error a part says its type
  await createEmbedding({ client, body: { inputs: [{ content: [{ text: "x" }] }] } });
  // @ts-expect-error nobody has this role
  await createEmbedding({ client, body: { messages: [{ role: "robot", content: fused(image) }] } });
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
  // @ts-expect-error an item fails alone, or all do
  await createEmbedding({ client, body: { input: "x", on_error: "per_batch" } });
  // @ts-expect-error a text has no features
  await createImageEmbeds({ client, body: { images: [{ type: "text", text: "x" }] } });
  // @ts-expect-error files of torch.save are not written
  await createImageEmbeds({ client, body: { images: [], features_format: "pt" } });
  // @ts-expect-error token ids are tokens already
  await tokenizeInputs({ client, body: { input: [[1, 2]] } });
  // @ts-expect-error token ids are numbers
  await detokenizeTokens({ client, body: { tokens: ["a", "b"] } });
  // @ts-expect-error a query is needed
  await createRerank({ client, body: { documents: ["x"] } });
  // @ts-expect-error a document is a text or an object
  await createScore({ client, body: { queries: ["x"], documents: [["x"]] } });
  const { data } = await createEmbedding({ client, body: { input: "x" } });
  // @ts-expect-error answers are open, and still this field is called `embedding`
  data?.data[0]?.vector;
}
