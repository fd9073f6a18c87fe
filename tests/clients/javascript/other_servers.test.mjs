// Clients of other servers: Ollama's for JavaScript, OpenAI's for Azure, and Voyage's provider of Vercel's AI SDK.

import assert from "node:assert/strict";
import { test } from "node:test";
import { rerank } from "ai";
import { Ollama } from "ollama";
import { AzureOpenAI } from "openai";
import { createVoyage } from "voyage-ai-provider";
import {
  assertRanked, assertSame, CANDIDATES, LOOKED_FOR, MODEL, pageClient, plainVectors, startRelay, TEXTS, URL_OF_SERVER,
} from "./support.mjs";

test("ollama: embed and the older embeddings", async (t) => {
  const relay = await startRelay(t);
  const client = pageClient("`ollama` for JavaScript", relay.url, { Ollama });
  const answer = await client.embed({ model: MODEL, input: TEXTS, keep_alive: "5m", truncate: true });
  assertSame(answer.embeddings, await plainVectors({ input: TEXTS }));
  assert.ok(answer.prompt_eval_count > 0);
  const older = await client.embeddings({ model: MODEL, prompt: TEXTS[0] });
  assertSame([older.embedding], await plainVectors({ input: TEXTS[0] }));
  assert.deepEqual(relay.sent.map(({ path }) => path), ["/api/embed", "/api/embeddings"]);
});

test("ollama: a refusal has our words", async () => {
  const client = new Ollama({ host: URL_OF_SERVER });
  await assert.rejects(client.embed({ model: "nobody", input: "x" }), /which is not served here/);
});

test("openai for Azure: the address, and a deployment that is a model's name", async () => {
  const client = new AzureOpenAI({ endpoint: URL_OF_SERVER, apiKey: "unused", apiVersion: "2024-10-21", deployment: MODEL });
  const answer = await client.embeddings.create({ model: MODEL, input: TEXTS });
  assertSame(answer.data.map(({ embedding }) => embedding), await plainVectors({ input: TEXTS }));
});

test("voyage-ai-provider: rerank gives the documents in the server's order", async (t) => {
  const relay = await startRelay(t);
  const voyage = pageClient("`voyage-ai-provider`", relay.url, { createVoyage });
  const { ranking } = await rerank({ model: voyage.reranking(MODEL), query: LOOKED_FOR, documents: CANDIDATES, topN: 2 });
  await assertRanked(ranking.map(({ originalIndex: index, score }) => ({ index, score })), 2);
  assert.deepEqual(relay.sent.map(({ path }) => path), ["/v1/rerank"]);
});
