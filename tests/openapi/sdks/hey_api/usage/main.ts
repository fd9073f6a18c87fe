/**
 * A program written against the generated functions, as a user would: `node usage/main.js URL IMAGE`.
 *
 * Not used are raw bytes (`Accept: application/octet-stream`): of an answer with two media types the generator writes
 * down JSON alone, so the bytes would have its type.
 */
import { readFileSync } from "node:fs";

import { assert } from "../assertions.js";
import { createClient } from "../cenote/client/index.js";
import { useAll } from "./program.js";

const [, , url, imagePath] = process.argv;
assert(url !== undefined && imagePath !== undefined, "a URL and an image are given");
const image = `data:image/png;base64,${readFileSync(imagePath).toString("base64")}`;
await useAll(createClient({ baseUrl: url, headers: { authorization: "Bearer any" } }), image);
