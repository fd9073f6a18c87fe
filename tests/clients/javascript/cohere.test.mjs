// Cohere's client for JavaScript, both versions of its API: only the base URL is set.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CohereClient, CohereClientV2, CohereError } from "cohere-ai";
import {
  assertSame, image, MODEL, plainMessage, plainVectors, QUERY, pageClient, startRelay, TEXTS, URL_OF_SERVER,
} from "./support.mjs";

const v1 = (url) => new CohereClient({ environment: url, token: "unused" });
const v2 = (url) => new CohereClientV2({ environment: url, token: "unused" });

test("the line of its page is enough", async () => {
  const client = pageClient("`cohere-ai` for JavaScript", URL_OF_SERVER, { CohereClientV2 });
  const answer = await client.embed({ model: MODEL, texts: TEXTS, inputType: "search_query", embeddingTypes: ["float"] });
  assertSame(answer.embeddings.float, await plainVectors({ input: TEXTS, instruction: QUERY }));
  assert.ok(answer.meta.billedUnits.inputTokens > 0);
});

test("images go in as content of inputs", async () => {
  const inputs = [{ content: [{ type: "image_url", imageUrl: { url: image } }] }];
  const answer = await v2(URL_OF_SERVER).embed({ model: MODEL, inputs, inputType: "image", embeddingTypes: ["float", "int8"] });
  const part = { type: "image_url", image_url: { url: image } };
  assertSame(answer.embeddings.float, await plainVectors({ inputs: [{ content: [part] }] }));
  assert.equal(answer.embeddings.int8[0].length, answer.embeddings.float[0].length);
});

test("the first version of the API gets the same", async () => {
  const answer = await v1(URL_OF_SERVER).embed({ model: MODEL, texts: TEXTS, inputType: "search_query" });
  assertSame(answer.embeddings, await plainVectors({ input: TEXTS, instruction: QUERY }));
});

test("a text goes to tokens and back, models are listed, a key is checked", async () => {
  const client = v1(URL_OF_SERVER);
  const { tokens, tokenStrings } = await client.tokenize({ model: MODEL, text: "a red circle" });
  assert.equal(tokens.length, tokenStrings.length);
  assert.equal((await client.detokenize({ model: MODEL, tokens })).text, "a red circle");
  const { models } = await client.models.list();
  assert.ok(models.some((model) => model.name === MODEL && model.endpoints.includes("embed")));
  assert.equal((await client.checkApiKey()).valid, true);
});

test("a refusal has our words and is not repeated", async (t) => {
  const relay = await startRelay(t);
  const message = await plainMessage("/v2/embed", { model: "none", texts: ["x"], input_type: "image" });
  const asked = v2(relay.url).embed({ model: "none", texts: ["x"], inputType: "search_query", embeddingTypes: ["float"] });
  await assert.rejects(asked, (error) => {
    assert.ok(error instanceof CohereError);
    assert.equal(error.statusCode, 404);
    assert.equal(error.body.message, message);
    return true;
  });
  assert.equal(relay.sent.length, 1);
});

test("a full queue is waited for", async (t) => {
  const relay = await startRelay(t);
  relay.numBusy = 1;
  const answer = await v2(relay.url).embed({ model: MODEL, texts: TEXTS, inputType: "search_query", embeddingTypes: ["float"] });
  assertSame(answer.embeddings.float, await plainVectors({ input: TEXTS, instruction: QUERY }));
  assert.equal(relay.sent.length, 2);
});
