/** A program written against the generated types, as a user would: `node usage/main.js URL IMAGE`. */
import { readFileSync } from "node:fs";

import createClient from "openapi-fetch";

import { assert } from "../assertions.js";
import type { paths } from "../cenote.js";
import type { Json } from "./client.js";
import { useAll } from "./program.js";
import { bytesHoldTheSame } from "./raw.js";

const [, , url, imagePath] = process.argv;
assert(url !== undefined && imagePath !== undefined, "a URL and an image are given");
const image = `data:image/png;base64,${readFileSync(imagePath).toString("base64")}`;
const client = createClient<paths, Json>({ baseUrl: url, headers: { authorization: "Bearer any" } });
await bytesHoldTheSame(client, image, await useAll(client, image));
