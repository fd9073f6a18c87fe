// Vercel's AI SDK by its three providers that can be pointed here.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createCohere } from "@ai-sdk/cohere";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embed, embedMany } from "ai";
import {
  assertSame, MODEL, plainMessage, plainVectors, QUERY, pageClient, startRelay, TEXTS, URL_OF_SERVER,
} from "./support.mjs";

const FACTORIES = { createCohere, createOpenAI, createOpenAICompatible };
const PROVIDERS = {
  "@ai-sdk/openai": { options: "openai", wanted: (input) => ({ input }) },
  "@ai-sdk/openai-compatible": { options: "openaiCompatible", wanted: (input) => ({ input }) },
  "@ai-sdk/cohere": { options: "cohere", wanted: (input) => ({ input, instruction: QUERY }) },
};

for (const [name, { options, wanted }] of Object.entries(PROVIDERS)) {
  const modelOf = (url) => pageClient(`\`${name}\``, url, FACTORIES).embeddingModel(MODEL);

  test(`${name}: the line of its page is enough for one text`, async () => {
    const answer = await embed({ model: modelOf(URL_OF_SERVER), value: TEXTS[0] });
    assertSame([answer.embedding], await plainVectors(wanted([TEXTS[0]])));
    assert.ok(answer.usage.tokens > 0);
  });

  test(`${name}: many texts keep their order and an empty one its place`, async () => {
    const texts = [...TEXTS, ...Array.from({ length: 200 }, (_, i) => `text number ${i}`)];
    const answer = await embedMany({ model: modelOf(URL_OF_SERVER), values: texts });
    assertSame(answer.embeddings, await plainVectors(wanted(texts)));
  });

  test(`${name}: dimensions shorten the vector`, async () => {
    const size = name === "@ai-sdk/cohere" ? { outputDimension: 256 } : { dimensions: 64 };
    const providerOptions = { [options]: size };
    const answer = await embed({ model: modelOf(URL_OF_SERVER), value: TEXTS[0], providerOptions });
    assertSame([answer.embedding], await plainVectors({ ...wanted([TEXTS[0]]), dimensions: Object.values(size)[0] }));
  });

  test(`${name}: a refusal has our words and is not repeated`, async (t) => {
    const relay = await startRelay(t);
    const model = pageClient(`\`${name}\``, relay.url, FACTORIES).embeddingModel("none");
    const message = await plainMessage("/v1/embeddings", { model: "none", input: "x" });
    await assert.rejects(embed({ model, value: "x" }), (error) => {
      assert.ok(APICallError.isInstance(error));
      assert.equal(error.message, message);
      return true;
    });
    assert.equal(relay.sent.length, 1);
  });

  test(`${name}: a full queue is waited for`, async (t) => {
    const relay = await startRelay(t);
    relay.numBusy = 1;
    const answer = await embed({ model: modelOf(relay.url), value: TEXTS[0] });
    assertSame([answer.embedding], await plainVectors(wanted([TEXTS[0]])));
    assert.equal(relay.sent.length, 2);
  });
}
