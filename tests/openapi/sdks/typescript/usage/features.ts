/** Vision features of an image, computed once and posted back in its place. */
import { assert, assertClose, isType, numbersOf } from "../assertions.js";
import { createImageEmbeds } from "./client.js";
import type { Client, Conversation, EmbedDtype, ImageEmbedsPart, ImageEmbedsResponse, ImageUrlPart } from "./client.js";
import { DIMENSIONS, embedding, INSTRUCTION } from "./vectors.js";

/** The features of one image, as the part to post back. */
async function features(client: Client, image: string): Promise<ImageEmbedsPart> {
  const images: ImageUrlPart[] = [{ type: "image_url", image_url: { url: image } }];
  const { data } = await createImageEmbeds({ client, body: { images, embed_dtype: "float32" } });
  isType<ImageEmbedsResponse | undefined>()(data);
  const [entry] = data?.data ?? [];
  assert(data !== undefined && entry?.part !== undefined, "features");
  isType<number[] | undefined>()(entry.shape);
  isType<EmbedDtype | undefined>()(entry.dtype);
  assert(entry.shape?.[0] === data.usage.image_tokens && entry.dtype === "float32", "a row for each visual token");
  return entry.part;
}

export async function featuresGiveTheSame(client: Client, image: string, want: readonly number[]): Promise<void> {
  const turns: Conversation = [
    { role: "system", content: [{ type: "text", text: INSTRUCTION }] },
    { role: "user", content: [await features(client, image), { type: "text", text: "a red circle" }] },
  ];
  assertClose(numbersOf(await embedding(client, { messages: turns, dimensions: DIMENSIONS })), want);
}
