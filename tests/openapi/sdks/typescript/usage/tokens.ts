/** The tokens that a request would have, and back to text. */
import { assert, isType } from "../assertions.js";
import { detokenizeTokens, tokenizeInputs } from "./client.js";
import type { Client, DetokenizeResponse, TokenizeRequest, TokenizeResponse } from "./client.js";
import { fused } from "./vectors.js";

async function tokenized(client: Client, body: TokenizeRequest): Promise<TokenizeResponse> {
  const { data, error } = await tokenizeInputs({ client, body });
  isType<TokenizeResponse | undefined>()(data);
  assert(data !== undefined, `tokens, not ${error?.error.message}`);
  isType<number[]>()(data.tokens);
  assert(data.count === data.tokens.length, "all are counted");
  return data;
}

export async function tokensOfAnImageAreCounted(client: Client, image: string): Promise<void> {
  const tokens = await tokenized(client, { inputs: [{ content: fused(image) }] });
  const [entry] = tokens.data;
  assert(entry !== undefined && entry.count === tokens.count, "one input");
  assert(entry.image_tokens > 0 && entry.image_tokens < entry.count, "some stand for the image");
  assert(tokens.token_strs === null, "no text that nobody asked for");
}

export async function tokensAreTextAgain(client: Client): Promise<void> {
  const tokens = await tokenized(client, { prompt: "a red circle", return_token_strs: true });
  isType<string[] | null>()(tokens.token_strs);
  assert(tokens.token_strs?.length === tokens.count, "a text for each");
  const { data } = await detokenizeTokens({ client, body: { tokens: tokens.tokens } });
  isType<DetokenizeResponse | undefined>()(data);
  assert(data?.prompt === tokens.token_strs.join("") && data.prompt.includes("a red circle"), "the text again");
}
