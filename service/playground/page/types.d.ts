/** Shapes that several modules share. Only the type checker reads this file: the server does not serve it. */

/** What the page reads of `GET /v1/models`; the whole card is in the reference, `ModelCard`. */
export interface ModelCard {
  id: string;
  root: string;
  /** What it is for, in a few words. */
  description: string;
  pooling: string;
  /** Kinds of vector: `dense`, `sparse`, `multi`; none of a reranker. */
  outputs: string[];
  dimensions: number;
  min_dimensions: number;
  matryoshka_dimensions: number[] | null;
  modalities: string[];
  default_instruction: string | null;
  takes_instructions: boolean;
  input_types: Record<string, string>;
  mixes_modalities: boolean;
  /** Null where no pages of PDFs are taken. */
  max_pdf_bytes: number | null;
  dtype: string;
  device: string;
  /** What its scores are: `cosine`, `dot`, `max_sim`, or a reranker's `sigmoid` or `logit`. */
  scoring: string | null;
}

/** A candidate's score; `index` is its place in the request. */
export interface Result {
  index: number;
  relevance_score: number;
}

/** Candidates in one model's order, best first, and what is said above them. */
export interface Ranked {
  title: string;
  told: string;
  results: Result[];
}

/** A PDF whose pages, or the first of them, are items. */
export interface Pdf {
  name: string;
  numPages: number;
}

/** One thing to embed: an image, a text, or an image with a text beside it. */
export interface Item {
  id: number;
  name: string;
  /** A data URI; null for a text. */
  image: string | null;
  text: string;
  /** Of a page of a PDF; `number` is counted from 1. */
  page?: { pdf: Pdf; number: number };
  /** Of a line of a text file. */
  file?: { name: string };
}

/** One request: items under one instruction; null is the model's own. */
export interface Ask {
  instruction: string | null;
  /** Which color the instruction has, counted from 0. */
  tone: number;
  items: Item[];
}

/** One row of the matrix: an item under an instruction. */
export interface Row {
  item: Item;
  instruction: string | null;
  /** Which color the instruction has, counted from 0. */
  tone: number;
}

/** What an answer's headers and usage say. */
export interface Facts {
  hits: number;
  misses: number;
  tokens: number;
  /** Milliseconds that the server named; NaN for a header that is not there. */
  mediaMs: number;
  queueMs: number;
  inferenceMs: number;
  totalMs: number;
  /** Milliseconds from the call to the whole answer, as the browser saw it. */
  roundTripMs: number;
}

/** A request that was answered. */
export interface Answered {
  ask: Ask;
  vectors: Float32Array[];
  facts: Facts;
  /** As the server wrote it. */
  answer: any;
}

/** How vectors are stored: `float` is float32, `ubinary` one bit a component. */
export type Format = "float" | "int8" | "ubinary";

/** A square table of similarities, row by row. */
export interface Matrix {
  size: number;
  values: Float64Array;
}

/** Where a row lies on the map. */
export type Point = [number, number];

/** What a shorter vector keeps of the ranking that whole float vectors give; each from 0 (tau: -1) to 1. */
export interface Kept {
  nearest: number;
  neighbors: number;
  tau: number;
}

/** The body of a request, as JSON.stringify writes it. */
export type Body = Record<string, unknown>;

/** A request as it goes over the wire. */
export interface Call {
  path: "v1/embeddings" | "v2/embed" | "v1/rerank";
  body: Body;
}
