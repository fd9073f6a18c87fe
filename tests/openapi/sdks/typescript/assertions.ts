/** What both programs state: of types, which the compiler checks and nothing runs, and of vectors. */

type IsAny<T> = 0 extends 1 & T ? true : false;
type Same<A, B> = true extends IsAny<A> | IsAny<B> ? false : [A, B] extends [B, A] ? true : false;

/** `isType<Want>()(value)` compiles only when a `Want` is all that `value` can be: else it needs one argument more. */
export function isType<Want>() {
  return <Got>(_value: Got, ..._differs: Same<Got, Want> extends true ? [] : [never]): void => undefined;
}

export function assert(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`not so: ${what}`);
}

/** The components of an `embedding`, whichever way it is written: numbers, or base64 of little-endian float32. */
export function numbersOf(embedding: readonly number[] | string): readonly number[] {
  if (typeof embedding !== "string") return embedding;
  const bytes = Buffer.from(embedding, "base64");
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

export function assertUnitVector(vector: readonly number[], dimensions: number): void {
  assert(vector.length === dimensions, `${vector.length} components are ${dimensions}`);
  const square = vector.reduce((sum, x) => sum + x * x, 0);
  assert(Math.abs(square - 1) < 1e-5, `|v|² = ${square} is 1`);
}

export function assertClose(got: readonly number[], want: readonly number[]): void {
  assert(got.length === want.length, `${got.length} components are ${want.length}`);
  got.forEach((x, i) => assert(Math.abs(x - (want[i] ?? NaN)) < 1e-5, `component ${i}: ${x} is ${want[i]}`));
}
