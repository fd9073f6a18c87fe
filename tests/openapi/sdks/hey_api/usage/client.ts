/** The generator's own functions and types are what the program is written in. */
export type { Client } from "../cenote/client/index.js";
export * from "../cenote/index.js";
