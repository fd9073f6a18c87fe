/** What is served. */
import { assert, isType } from "../assertions.js";
import type { Cenote } from "./client.js";

export async function modelsAreTyped(client: Cenote): Promise<void> {
  const models = await client.GET("/v1/models");
  const model_id = models.data?.data[0]?.id ?? "";
  const { data } = await client.GET("/v1/models/{model_id}", { params: { path: { model_id } } });
  assert(data !== undefined, `a card of ${model_id}`);
  isType<"last_token" | "mean" | "cls" | "multi_vector" | "splade">()(data.pooling);
  isType<number[] | null>()(data.matryoshka_dimensions);
  assert(data.modalities.includes("image"), "images are taken");
}
