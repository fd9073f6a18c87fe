/** What is served. */
import { assert, isType } from "../assertions.js";
import { getModel, listModels } from "./client.js";
import type { Client } from "./client.js";

export async function modelsAreTyped(client: Client): Promise<void> {
  const models = await listModels({ client });
  const model_id = models.data?.data[0]?.id ?? "";
  const { data } = await getModel({ client, path: { model_id } });
  assert(data !== undefined, `a card of ${model_id}`);
  isType<"last_token" | "mean" | "cls" | "multi_vector" | "splade">()(data.pooling);
  isType<number[] | null>()(data.matryoshka_dimensions);
  assert(data.modalities.includes("image"), "images are taken");
}
