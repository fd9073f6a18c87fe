/** Vectors as raw bytes, which `Accept` asks for, and headers in place of what JSON says. */
import { assert, assertClose, isType, numbersOf } from "../assertions.js";
import type { Client } from "./client.js";
import { DIMENSIONS, fused, INSTRUCTION } from "./vectors.js";

export async function bytesHoldTheSame(client: Client, image: string, want: readonly number[]): Promise<void> {
  const { data, response } = await client.POST("/v1/embeddings", {
    body: { inputs: [{ content: fused(image) }], instruction: INSTRUCTION, dimensions: DIMENSIONS },
    headers: { accept: "application/octet-stream" },
    parseAs: "arrayBuffer",
  });
  isType<ArrayBuffer | undefined>()(data);
  assert(data !== undefined && data.byteLength === 4 * DIMENSIONS, "four bytes to a component");
  assert(response.headers.get("x-embedding-shape") === `1,${DIMENSIONS}`, "one vector");
  assertClose(numbersOf(Buffer.from(data).toString("base64")), want);
}
