// Typed use of the whole document, unions included: it compiles only while the types are as a reader expects.

import {
  Configuration,
  EmbeddingsApi,
  ScoresApi,
  type EmbeddingResponse,
  type Message,
  type RerankInput,
  type RerankResult,
} from "./generated/index";

const message: Message = { role: "user", content: [{ type: "text", text: "a red circle" }] };

export async function embed(basePath: string): Promise<EmbeddingResponse> {
  const api = new EmbeddingsApi(new Configuration({ basePath }));
  return api.createEmbedding({ embeddingRequest: { messages: [message] } });
}

export async function rerank(basePath: string): Promise<RerankResult[]> {
  const documents: RerankInput[] = ["a green triangle", { text: "a red circle" }];
  const api = new ScoresApi(new Configuration({ basePath }));
  const answer = await api.createRerank({ rerankRequest: { query: "a red circle", documents } });
  return answer.results;
}
