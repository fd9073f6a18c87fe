// What the tests of every JavaScript client share: the live server asked without a client, a relay that keeps what a
// client sent and can play a full queue, the line of a client in docs/clients.md, and no way out of this machine.

import assert from "node:assert/strict";
import dns from "node:dns";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

export const URL_OF_SERVER = process.env.CENOTE_TEST_URL;
export const MODEL = "builtin";
export const DIMENSIONS = 256;
export const TEXTS = ["a red circle", "", "a blue square", "  ", "two green triangles beside a star"];
/** What `search_query` stands for. */
export const QUERY = "Retrieve images or text relevant to the user's query.";

const LOOPBACK = ["127.0.0.1", "localhost", "::1"];
const lookUp = dns.lookup;
dns.lookup = (host, ...rest) => {
  if (LOOPBACK.includes(host)) return lookUp(host, ...rest);
  throw new Error(`these tests reach no outside host, and something asked for ${host}`);
};

export const image = (() => {
  const file = new URL("red-circle-blue-square.png", `file://${process.env.CENOTE_SAMPLES}/`);
  return "data:image/png;base64," + readFileSync(file).toString("base64");
})();

export const imagePart = { type: "image_url", image_url: { url: image } };

/** Every vector of a `/v1/embeddings` request, in order, asked by plain HTTP. */
export async function plainVectors(body) {
  const answer = await (await post("/v1/embeddings", body)).json();
  assert.ok(answer.data, JSON.stringify(answer));
  return answer.data.map((entry) => entry.embedding);
}

/** What rerankers are asked; an empty document stands between the others here too. */
export const LOOKED_FOR = "a red circle";
export const CANDIDATES = ["two green triangles", "a red circle beside a square", "", "a blue star"];

/** Indices and scores are those of the `topN` best of `CANDIDATES`, best first, by `/score` asked by plain HTTP. */
export async function assertRanked(got, topN = CANDIDATES.length) {
  const { data } = await (await post("/score", { queries: LOOKED_FOR, documents: CANDIDATES })).json();
  const want = data.toSorted((one, other) => other.score - one.score).slice(0, topN);
  assert.deepEqual(got.map(({ index }) => index), want.map(({ index }) => index));
  assertSame([got.map(({ score }) => score)], [want.map(({ score }) => score)]);
}

/** The message of a refusal, asked by plain HTTP. */
export async function plainMessage(path, body) {
  const answer = await post(path, body);
  assert.ok(answer.status >= 400);
  return (await answer.json()).error.message;
}

function post(path, body) {
  const headers = { "content-type": "application/json" };
  return fetch(URL_OF_SERVER + path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Equal but for the last bits, which depend on what else was in the engine's batch. */
export function assertSame(got, want) {
  assert.deepEqual(got.map((vector) => vector.length), want.map((vector) => vector.length));
  got.forEach((vector, i) => vector.forEach((value, k) => assert.ok(Math.abs(value - want[i][k]) < 1e-6, `${i}, ${k}`)));
}

/** The expression in a client's row of docs/clients.md, evaluated for an address. */
export function pageClient(row, url, names) {
  const page = readFileSync(process.env.CENOTE_CLIENTS_PAGE, "utf8");
  const rows = page.split("\n").filter((line) => line.replace(/<a id="[\w-]+"><\/a>/, "").startsWith(`| ${row} |`));
  assert.equal(rows.length, 1, `rows of ${row} in docs/clients.md`);
  const expression = /\| `([^`]+)` \|$/.exec(rows[0])[1];
  const here = expression.replace("http://127.0.0.1:8000", url);
  assert.notEqual(here, expression);
  return new Function(...Object.keys(names), `return ${here}`)(...Object.values(names));
}

/** A relay before the server: `sent` is what came in; the next `numBusy` requests are told to come back in a second. */
export async function startRelay(test) {
  const relay = { sent: [], numBusy: 0 };
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    const body = Buffer.concat(chunks);
    relay.sent.push({ path: request.url, headers: request.headers, body: JSON.parse(body) });
    if (relay.numBusy-- > 0) {
      const error = { message: "the queue is full", type: "overloaded_error", param: null, code: "overloaded" };
      response.writeHead(503, { "content-type": "application/json", "retry-after": "1", "retry-after-ms": "1000" });
      response.end(JSON.stringify({ message: error.message, error }));
      return;
    }
    const { host, connection, "transfer-encoding": _, "content-length": __, "accept-encoding": ___, ...headers } = request.headers;
    const answer = await fetch(URL_OF_SERVER + request.url, { method: request.method, headers, body });
    const { "content-length": ____, "keep-alive": _____, ...back } = Object.fromEntries(answer.headers);
    response.writeHead(answer.status, back);
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  relay.url = `http://127.0.0.1:${server.address().port}`;
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return relay;
}
