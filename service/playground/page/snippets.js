/**
 * The request as code that runs as it stands: curl, Python, TypeScript. Its body is the one that this page sends.
 *
 * Where the page has an API key, the code reads it from the environment variable `API_KEY`: a key is never copied.
 */

/**
 * @typedef {import("./types.js").Body} Body
 * @typedef {import("./types.js").Call} Call
 */

/** What of an answer the code shows: in Python after httpx, and in TypeScript. */
const SHOWN = {
  "v1/embeddings": ["", "answer.data"],
  "v2/embed": [
    `for kind, vectors in answer.json()["embeddings"].items():\n    print(kind, [len(vector) for vector in vectors])`,
    "answer.embeddings",
  ],
  "v1/rerank": [
    `for result in answer.json()["results"]:\n    print(result["index"], result["relevance_score"])`,
    "answer.results",
  ],
};

/** Names of the OpenAI SDK's own arguments; the rest of a body goes into `extra_body`. */
const OPENAI_NAMES = ["model", "input", "dimensions"];

/**
 * A value as a Python literal.
 * @param {unknown} value as JSON has it
 * @param {number} depth how far in it stands
 * @returns {string}
 */
export function pythonLiteral(value, depth = 0) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "object") {
    const entries = Array.isArray(value)
      ? value.map((one) => pythonLiteral(one, depth + 1))
      : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonLiteral(one, depth + 1)}`);
    const [open, close] = Array.isArray(value) ? "[]" : "{}";
    const line = `${open}${entries.join(", ")}${close}`;
    if (line.length + 4 * depth <= 100) return line;
    const inside = "    ".repeat(depth + 1);
    return `${open}\n${entries.map((entry) => `${inside}${entry},\n`).join("")}${"    ".repeat(depth)}${close}`;
  }
  return JSON.stringify(value); // JSON's strings and numbers are Python's
}

/**
 * @param {string} base the server's address, without a slash at its end
 * @param {Call} call
 * @param {boolean} hasKey
 */
export function curl(base, { path, body }, hasKey) {
  const key = hasKey ? ` \\\n  -H "authorization: Bearer $API_KEY"` : "";
  const head = `curl -sS --fail-with-body ${base}/${path} \\\n  -H 'content-type: application/json'${key}`;
  return `${head} --data-binary @- <<'JSON'\n${JSON.stringify(body, null, 2)}\nJSON`;
}

/**
 * With the OpenAI SDK where it has the call, else with httpx.
 * @param {string} base
 * @param {Call} call
 * @param {boolean} hasKey
 */
export function python(base, { path, body }, hasKey) {
  const imports = hasKey ? "import os\n\n" : "";
  const key = hasKey ? `os.environ["API_KEY"]` : `"unused"`;
  if (path === "v1/embeddings") {
    const client = `client = openai.OpenAI(base_url="${base}/v1", api_key=${key})`;
    const call = `answer = client.embeddings.create(\n${openaiArguments(body)})`;
    return `${imports}import openai\n\n${client}\n${call}\nprint([len(entry.embedding) for entry in answer.data], answer.usage)`;
  }
  const headers = hasKey ? `, headers={"authorization": f"Bearer {${key.replaceAll('"', "'")}}"}` : "";
  const call = `answer = httpx.post("${base}/${path}", json=body, timeout=300${headers})`;
  return `${imports}import httpx\n\nbody = ${pythonLiteral(body)}\n${call}\nanswer.raise_for_status()\n${SHOWN[path][0]}`;
}

/** @param {Body} body */
function openaiArguments(body) {
  const named = Object.entries(body).filter(([name]) => OPENAI_NAMES.includes(name));
  const others = Object.fromEntries(Object.entries(body).filter(([name]) => !OPENAI_NAMES.includes(name)));
  const lines = named.map(([name, value]) => `    ${name}=${pythonLiteral(value, 1)},\n`);
  if (!("input" in body)) lines.splice(1, 0, "    input=openai.omit,\n");
  if (Object.keys(others).length) lines.push(`    extra_body=${pythonLiteral(others, 1)},\n`);
  return lines.join("");
}

/**
 * TypeScript, which Node.js and Deno run as well.
 * @param {string} base
 * @param {Call} call
 * @param {boolean} hasKey
 */
export function typescript(base, { path, body }, hasKey) {
  const key = hasKey ? ", authorization: `Bearer ${process.env.API_KEY}`" : "";
  const sent = JSON.stringify(body, null, 2).replaceAll("\n", "\n  ");
  const options = `{\n  method: "POST",\n  headers: { "content-type": "application/json"${key} },\n  body: JSON.stringify(${sent}),\n}`;
  return (
    `const response = await fetch("${base}/${path}", ${options});\n` +
    `if (!response.ok) throw new Error(await response.text());\n` +
    `const answer = await response.json();\nconsole.log(${SHOWN[path][1]});`
  );
}

/**
 * Code for the screen: images are shortened.
 * @param {string} code
 */
export function forTheScreen(code) {
  return code.replace(/(data:[a-z/+-]+;base64,)([A-Za-z0-9+/=]{48,})/g, (_, head, data) => {
    return `${head}${data.slice(0, 16)}… ${data.length.toLocaleString("en")} characters …${data.slice(-8)}`;
  });
}
