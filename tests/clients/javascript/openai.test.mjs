// OpenAI's client for JavaScript: only the base URL is set.

import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import {
  assertSame, DIMENSIONS, imagePart, MODEL, plainMessage, plainVectors, pageClient, startRelay, TEXTS, URL_OF_SERVER,
} from "./support.mjs";

const clientOf = (url) => new OpenAI({ baseURL: `${url}/v1`, apiKey: "unused" });
const vectorsOf = (answer) => answer.data.map((entry) => entry.embedding);

test("the line of its page is enough", async () => {
  const client = pageClient("`openai` for JavaScript", URL_OF_SERVER, { OpenAI });
  assertSame(vectorsOf(await client.embeddings.create({ model: MODEL, input: TEXTS })), await plainVectors({ input: TEXTS }));
});

test("texts keep their order and an empty one its place, in the client's own base64", async (t) => {
  const relay = await startRelay(t);
  const answer = await clientOf(relay.url).embeddings.create({ model: MODEL, input: TEXTS });
  assertSame(vectorsOf(answer), await plainVectors({ input: TEXTS }));
  assert.deepEqual(relay.sent.map((sent) => sent.body.encoding_format), ["base64"]);
  assert.ok(answer.usage.prompt_tokens > 0);
});

test("floats are the same, and dimensions shorten them", async () => {
  const answer = await clientOf(URL_OF_SERVER).embeddings.create({
    model: MODEL, input: TEXTS, dimensions: 64, encoding_format: "float",
  });
  assertSame(vectorsOf(answer), await plainVectors({ input: TEXTS, dimensions: 64 }));
  assert.ok(answer.data[0].embedding.length < DIMENSIONS);
});

test("images and instructions go in as further fields of the body", async () => {
  const body = { inputs: [{ content: [imagePart] }, { content: "x" }], instruction: "Represent the colors." };
  const answer = await clientOf(URL_OF_SERVER).embeddings.create({ model: MODEL, ...body });
  assertSame(vectorsOf(answer), await plainVectors(body));
});

test("a bad request is the client's own class and is not repeated", async (t) => {
  const relay = await startRelay(t);
  const body = { model: MODEL, input: TEXTS, dimensions: 4096 };
  const message = await plainMessage("/v1/embeddings", body);
  await assert.rejects(clientOf(relay.url).embeddings.create(body), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.deepEqual([error.code, error.param], ["invalid_dimensions", "dimensions"]);
    assert.ok(error.message.includes(message));
    assert.ok(error.requestID);
    return true;
  });
  assert.equal(relay.sent.length, 1);
});

test("an unknown model has a class of its own", async () => {
  const asked = clientOf(URL_OF_SERVER).embeddings.create({ model: "text-embedding-3-small", input: "x" });
  await assert.rejects(asked, (error) => error instanceof OpenAI.NotFoundError && error.code === "model_not_found");
});

test("half an emoji, as String.slice leaves it, fails alone where items may fail by themselves", async () => {
  const half = "I like it 👍".slice(0, -1);
  const client = clientOf(URL_OF_SERVER);
  const answer = await client.embeddings.create({ model: MODEL, input: ["fine", half], on_error: "per_item", encoding_format: "float" });
  assert.equal(answer.data[0].embedding.length, DIMENSIONS);
  assert.deepEqual([answer.data[1].embedding, answer.data[1].error.index], [null, 1]);
  await assert.rejects(client.embeddings.create({ model: MODEL, input: ["fine", half] }), /input\[1\].*half of a character/);
});

test("a full queue is waited for", async (t) => {
  const relay = await startRelay(t);
  relay.numBusy = 1;
  const answer = await clientOf(relay.url).embeddings.create({ model: MODEL, input: TEXTS });
  assertSame(vectorsOf(answer), await plainVectors({ input: TEXTS }));
  assert.deepEqual(relay.sent.map((sent) => sent.headers["x-stainless-retry-count"]), ["0", "1"]);
});

test("the list of models names the one that is served", async () => {
  const names = [];
  for await (const model of clientOf(URL_OF_SERVER).models.list()) names.push(model.id);
  assert.ok(names.includes(MODEL));
});
