/** The client, the types and a function for each operation, by the names that the program knows them by. */
import type { Client as FetchClient } from "openapi-fetch";

import type { components, paths } from "../cenote.js";

export type Schemas = components["schemas"];
export type Json = "application/json";
export type Client = FetchClient<paths, Json>;

export type CohereErrorResponse = Schemas["CohereErrorResponse"];
export type CohereRerankResponse = Schemas["CohereRerankResponse"];
export type ContentParts = Schemas["ContentParts"];
export type Conversation = Schemas["Conversation"];
export type DetokenizeResponse = Schemas["DetokenizeResponse"];
export type EmbedDtype = Schemas["EmbedDtype"];
export type EmbeddingData = Schemas["EmbeddingData"];
export type EmbeddingRequest = Schemas["EmbeddingRequest"];
export type EmbeddingResponse = Schemas["EmbeddingResponse"];
export type ErrorBody = Schemas["ErrorBody"];
export type ErrorCode = Schemas["ErrorCode"];
export type ErrorResponse = Schemas["ErrorResponse"];
export type ImageEmbedsPart = Schemas["ImageEmbedsPart"];
export type ImageEmbedsResponse = Schemas["ImageEmbedsResponse"];
export type ImageUrlPart = Schemas["ImageUrlPart"];
export type RerankInput = Schemas["RerankInput"];
export type RerankResponse = Schemas["RerankResponse"];
export type ScoreResponse = Schemas["ScoreResponse"];
export type TextRank = Schemas["TextRank"];
export type TokenizeRequest = Schemas["TokenizeRequest"];
export type TokenizeResponse = Schemas["TokenizeResponse"];

/** The client, and what the document says the body of a path is. */
type Bodied = { [P in keyof paths]: paths[P] extends { post: { requestBody: { content: Record<Json, unknown> } } } ? P : never };
interface Call<P extends Bodied[keyof paths]> {
  client: Client;
  body: paths[P]["post"]["requestBody"]["content"][Json];
}

export const createEmbedding = ({ client, body }: Call<"/v1/embeddings">) => client.POST("/v1/embeddings", { body });
export const createImageEmbeds = ({ client, body }: Call<"/v1/image_embeds">) => client.POST("/v1/image_embeds", { body });
export const createRerank = ({ client, body }: Call<"/v1/rerank">) => client.POST("/v1/rerank", { body });
export const createScore = ({ client, body }: Call<"/score">) => client.POST("/score", { body });
export const detokenizeTokens = ({ client, body }: Call<"/detokenize">) => client.POST("/detokenize", { body });
export const embed = ({ client, body }: Call<"/v2/embed">) => client.POST("/v2/embed", { body });
export const embedTei = ({ client, body }: Call<"/embed">) => client.POST("/embed", { body });
export const rerankAny = ({ client, body }: Call<"/rerank">) => client.POST("/rerank", { body });
export const rerankV2 = ({ client, body }: Call<"/v2/rerank">) => client.POST("/v2/rerank", { body });
export const tokenizeInputs = ({ client, body }: Call<"/tokenize">) => client.POST("/tokenize", { body });

export const getInfo = ({ client }: { client: Client }) => client.GET("/info");
export const listModels = ({ client }: { client: Client }) => client.GET("/v1/models");
export const getModel = ({ client, path }: { client: Client; path: { model_id: string } }) =>
  client.GET("/v1/models/{model_id}", { params: { path } });
