/** The types of the client that every part of the program is given. */
import type { Client } from "openapi-fetch";

import type { components, paths } from "../cenote.js";

export type Schemas = components["schemas"];
export type Json = "application/json";
export type Cenote = Client<paths, Json>;
