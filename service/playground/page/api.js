/** Requests to the server, with the key that was typed into the page and is kept in memory alone. */

/**
 * @typedef {import("./types.js").Body} Body
 * @typedef {import("./types.js").Facts} Facts
 */

/** A refusal in the server's own words. */
export class ApiError extends Error {
  /**
   * @param {number} status HTTP status; 0 when there was no answer
   * @param {Record<string, unknown>} error the body's `error`
   * @param {number} retryAfterS seconds of `Retry-After`; 0 without one
   */
  constructor(status, error, retryAfterS) {
    super(typeof error.message === "string" ? error.message : `the server answered ${status}`);
    this.status = status;
    this.retryAfterS = retryAfterS;
    this.code = typeof error.code === "string" ? error.code : "";
    this.param = typeof error.param === "string" ? error.param : "";
    this.index = typeof error.index === "number" ? error.index : null;
    this.requestId = typeof error.request_id === "string" ? error.request_id : "";
  }
}

let key = "";

/** @param {string} typed empty for no key */
export function useKey(typed) {
  key = typed.trim();
}

/** True if requests carry a key. */
export function hasKey() {
  return key !== "";
}

/** What carries the key. @returns {Record<string, string>} */
export function authorization() {
  return key ? { authorization: `Bearer ${key}` } : {};
}

/** The server's address as this page was reached, without a slash at its end. */
export const BASE = new URL("..", import.meta.url).href.replace(/\/$/, "");

/**
 * @param {string} path without a slash in front
 * @param {Body} [body] for a POST
 * @param {AbortSignal} [signal] stops it
 * @returns {Promise<{answer: any, facts: Facts}>}
 * @throws {ApiError} on a refusal, or without an answer
 * @throws {DOMException} once it is stopped
 */
export async function ask(path, body, signal) {
  const began = performance.now();
  const headers = { ...(body ? { "content-type": "application/json" } : {}), ...authorization() };
  const options = body ? { method: "POST", headers, body: JSON.stringify(body), signal } : { headers, signal };
  let response;
  let answer;
  try {
    response = await fetch(`${BASE}/${path}`, options);
    answer = await response.json();
  } catch {
    signal?.throwIfAborted();
    throw new ApiError(response?.status ?? 0, { message: "The server did not answer." }, 0);
  }
  if (!response.ok) throw new ApiError(response.status, answer.error ?? answer, Number(response.headers.get("retry-after")));
  return { answer, facts: factsOf(response.headers, answer, performance.now() - began) };
}

/**
 * @param {Headers} headers
 * @param {any} answer
 * @param {number} roundTripMs
 * @returns {Facts}
 */
function factsOf(headers, answer, roundTripMs) {
  const [, hits, misses] = /hit=(\d+), miss=(\d+)/.exec(headers.get("x-encoder-cache") ?? "") ?? [];
  /** @param {string} name */
  const ms = (name) => parseFloat(headers.get(name) ?? "NaN");
  return {
    hits: Number(hits ?? 0),
    misses: Number(misses ?? 0),
    tokens: answer.usage?.total_tokens ?? answer.meta?.tokens?.input_tokens ?? 0,
    mediaMs: ms("x-media-time"),
    queueMs: ms("x-queue-time"),
    inferenceMs: ms("x-inference-time"),
    totalMs: ms("x-total-time"),
    roundTripMs,
  };
}
