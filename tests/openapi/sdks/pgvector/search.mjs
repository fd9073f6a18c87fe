// The SQL of docs/recipes/small-vectors.md in a real Postgres with pgvector, compiled to WebAssembly.
// In: recipe.sql (tables, an empty line, the search) and rows.json. Out: the ids found for each question, as JSON.
import { readFileSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";

const [tables, search] = readFileSync("recipe.sql", "utf8").split("\n\n");
const { pages, asked } = JSON.parse(readFileSync("rows.json", "utf8"));
const database = new PGlite({ extensions: { vector } });
await database.exec("CREATE EXTENSION vector");
await database.exec(tables);
for (const [id, row] of pages.entries()) {
  await database.query("INSERT INTO pages VALUES ($1, $2, $3)", [id, row.bits, JSON.stringify(row.long)]);
}
const found = [];
for (const row of asked) {
  const { rows } = await database.query(search, [row.bits, JSON.stringify(row.long)]);
  found.push(rows.map((each) => Number(each.id)));
}
console.log(JSON.stringify(found));
