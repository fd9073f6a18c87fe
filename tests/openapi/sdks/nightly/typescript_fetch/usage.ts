// Typed use of the whole document, unions included: it compiles only while the types are as a reader expects.

import { Configuration, EmbeddingsApi, type EmbeddingResponse, type Message } from "./generated/index";

const message: Message = { role: "user", content: [{ type: "text", text: "a red circle" }] };

export async function embed(basePath: string): Promise<EmbeddingResponse> {
  const api = new EmbeddingsApi(new Configuration({ basePath }));
  return api.createEmbedding({ embeddingRequest: { messages: [message] } });
}
