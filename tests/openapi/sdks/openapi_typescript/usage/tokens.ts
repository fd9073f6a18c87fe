/** The tokens that a request would have, and back to text. */
import { assert, isType } from "../assertions.js";
import type { Cenote, Schemas } from "./client.js";
import { fused } from "./vectors.js";

async function tokenized(client: Cenote, body: Schemas["TokenizeRequest"]): Promise<Schemas["TokenizeResponse"]> {
  const { data, error } = await client.POST("/tokenize", { body });
  isType<Schemas["TokenizeResponse"] | undefined>()(data);
  assert(data !== undefined, `tokens, not ${error?.error.message}`);
  isType<number[]>()(data.tokens);
  assert(data.count === data.tokens.length, "all are counted");
  return data;
}

export async function tokensOfAnImageAreCounted(client: Cenote, image: string): Promise<void> {
  const tokens = await tokenized(client, { inputs: [{ content: fused(image) }] });
  const [entry] = tokens.data;
  assert(entry !== undefined && entry.count === tokens.count, "one input");
  assert(entry.image_tokens > 0 && entry.image_tokens < entry.count, "some stand for the image");
  assert(tokens.token_strs === null, "no text that nobody asked for");
}

export async function tokensAreTextAgain(client: Cenote): Promise<void> {
  const tokens = await tokenized(client, { prompt: "a red circle", return_token_strs: true });
  isType<string[] | null>()(tokens.token_strs);
  assert(tokens.token_strs?.length === tokens.count, "a text for each");
  const { data } = await client.POST("/detokenize", { body: { tokens: tokens.tokens } });
  isType<Schemas["DetokenizeResponse"] | undefined>()(data);
  assert(data?.prompt === tokens.token_strs.join("") && data.prompt.includes("a red circle"), "the text again");
}
