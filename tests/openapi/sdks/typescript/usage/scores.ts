/** The second stage: documents in the order of their relevance and scores of pairs, in every form of the routes. */
import { assert, assertClose, isType } from "../assertions.js";
import { createRerank, createScore, embedTei, getInfo, rerankAny, rerankV2 } from "./client.js";
import type {
  Client,
  CohereErrorResponse,
  CohereRerankResponse,
  ErrorBody,
  RerankInput,
  RerankResponse,
  ScoreResponse,
  TextRank,
} from "./client.js";
import { fused } from "./vectors.js";

const QUERY = "a red circle";
const TEXTS = ["a green triangle", "a red circle", ""];

/** One of each form: a text, an object with a text, with an image, with parts. */
function documentsOf(image: string): RerankInput[] {
  return ["a green triangle", { text: "a red circle" }, { image }, { content: fused(image) }];
}

/** The scores of documents, in their order. */
async function scoresOf(client: Client, documents: RerankInput[]): Promise<number[]> {
  const { data, error } = await createScore({ client, body: { queries: [{ text: QUERY }], documents } });
  isType<ScoreResponse | undefined>()(data);
  assert(data !== undefined, `scores, not ${error?.error.message}`);
  return data.data.map(({ score }) => {
    isType<number | null>()(score);
    assert(score !== null, "null is only there when `on_error` asked for it");
    return score;
  });
}

/** The indices of the documents, the best first. */
function ranked(scores: readonly number[]): string {
  return scores.map((score, index) => ({ score, index })).sort((a, b) => b.score - a.score).map((one) => one.index).join();
}

export async function rerankGivesTheSame(client: Client, image: string): Promise<void> {
  const documents = documentsOf(image);
  const want = await scoresOf(client, documents);
  const { data } = await createRerank({ client, body: { query: { text: QUERY }, documents, return_documents: true } });
  isType<RerankResponse | undefined>()(data);
  assert(data?.results.map((one) => one.index).join() === ranked(want), "best first");
  isType<string | undefined>()(data.results[0]?.document?.text);
  assertClose(data.results.map((one) => one.relevance_score), [...want].sort((a, b) => b - a));
  isType<number>()(data.usage.image_tokens);

  const cohere = await rerankV2({ client, body: { query: QUERY, documents, top_n: 2 } });
  isType<CohereRerankResponse | undefined>()(cohere.data);
  assert(cohere.data?.results.map((one) => one.index).join() === ranked(want).slice(0, 3), "the best two");
  isType<number>()(cohere.data.meta.billed_units.search_units);
}

export async function teiGivesTheSame(client: Client): Promise<void> {
  const want = await scoresOf(client, TEXTS);
  const { data } = await rerankAny({ client, body: { query: QUERY, texts: TEXTS, return_text: true } });
  isType<RerankResponse | TextRank[] | undefined>()(data);
  assert(data !== undefined && !("results" in data), "of texts a list");
  isType<TextRank[]>()(data);
  assert(data.map((one) => one.index).join() === ranked(want), "best first");
  assert(data.every((one) => one.text === TEXTS[one.index]), "each with its text");
  assertClose(data.map((one) => one.score), [...want].sort((a, b) => b - a));

  const vectors = await embedTei({ client, body: { inputs: TEXTS, prompt_name: "query" } });
  isType<number[][] | undefined>()(vectors.data);
  const info = await getInfo({ client });
  isType<number | undefined>()(info.data?.max_input_length);
  assert(vectors.data?.length === TEXTS.length && info.data?.model_type.embedding !== undefined, "an embedder");
}

export async function errorsOfRerankingAreTyped(client: Client, image: string): Promise<void> {
  const documents: RerankInput[] = [{ image: "data:image/png;base64,bm90IGEgcGljdHVyZQ==" }, { image }];
  const { error } = await createRerank({ client, body: { query: QUERY, documents } });
  isType<CohereErrorResponse | undefined>()(error);
  assert(error?.error.code === "media_undecodable" && error.error.index === 0, "the first document");
  assert(error.detail === error.message, "Jina's clients read `detail`");
  const { data } = await createRerank({ client, body: { query: QUERY, documents, on_error: "per_item" } });
  isType<ErrorBody[] | undefined>()(data?.errors);
  assert(data?.results.length === 1 && data.errors?.[0]?.index === 0, "the other document is scored");
}
