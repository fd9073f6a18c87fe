// Rerankers: Cohere's client in both versions of its API, and Vercel's AI SDK by two of its providers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createCohere } from "@ai-sdk/cohere";
import { createTogetherAI } from "@ai-sdk/togetherai";
import { APICallError, rerank } from "ai";
import { CohereClient, CohereClientV2 } from "cohere-ai";
import {
  assertRanked, CANDIDATES, LOOKED_FOR, MODEL, pageClient, plainMessage, startRelay, URL_OF_SERVER,
} from "./support.mjs";

const ASKED = { query: LOOKED_FOR, documents: CANDIDATES };
const FACTORIES = { createCohere, createTogetherAI };
const PROVIDERS = { "@ai-sdk/cohere": "/v2/rerank", "@ai-sdk/togetherai": "/v1/rerank" };

const rankingOf = (answer) => answer.results.map(({ index, relevanceScore: score }) => ({ index, score }));

test("cohere-ai: the second version of the API", async (t) => {
  const relay = await startRelay(t);
  const client = pageClient("`cohere-ai` for JavaScript", relay.url, { CohereClientV2 });
  const answer = await client.rerank({ model: MODEL, ...ASKED, topN: 2, maxTokensPerDoc: 64 });
  await assertRanked(rankingOf(answer), 2);
  assert.equal(answer.meta.billedUnits.searchUnits, 1);
  assert.ok(answer.meta.tokens.inputTokens > 0);
  assert.deepEqual(relay.sent.map(({ path }) => path), ["/v2/rerank"]);
});

test("cohere-ai: the first version of the API, with documents", async (t) => {
  const relay = await startRelay(t);
  const client = new CohereClient({ environment: relay.url, token: "unused" });
  const documents = CANDIDATES.map((text) => ({ text }));
  const answer = await client.rerank({ model: MODEL, query: LOOKED_FOR, documents, returnDocuments: true, rankFields: ["text"] });
  await assertRanked(rankingOf(answer));
  assert.deepEqual(answer.results.map(({ document }) => document.text), answer.results.map(({ index }) => CANDIDATES[index]));
  assert.deepEqual(relay.sent.map(({ path }) => path), ["/v1/rerank"]);
});

for (const [name, path] of Object.entries(PROVIDERS)) {
  const modelOf = (url, model = MODEL) => pageClient(`\`${name}\``, url, FACTORIES).reranking(model);

  test(`${name}: rerank gives the documents in the server's order`, async (t) => {
    const relay = await startRelay(t);
    const { ranking, rerankedDocuments } = await rerank({ model: modelOf(relay.url), ...ASKED, topN: 2 });
    await assertRanked(ranking.map(({ originalIndex: index, score }) => ({ index, score })), 2);
    assert.deepEqual(rerankedDocuments, ranking.map(({ originalIndex }) => CANDIDATES[originalIndex]));
    assert.deepEqual(relay.sent.map((sent) => sent.path), [path]);
  });

  test(`${name}: a refused rerank has our words and is not repeated`, async (t) => {
    const relay = await startRelay(t);
    const message = await plainMessage(path, { model: "none", ...ASKED });
    await assert.rejects(rerank({ model: modelOf(relay.url, "none"), ...ASKED }), (error) => {
      assert.ok(APICallError.isInstance(error));
      assert.equal(error.message, message);
      return true;
    });
    assert.equal(relay.sent.length, 1);
  });
}
