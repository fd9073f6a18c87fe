"""Calls of an operation as people write them, one for each request example: curl, Python, TypeScript.

The code runs as it stands against a server on this machine. SDKs of OpenAI and Cohere have some of the calls: a field
that an SDK has no argument for goes into its `extra_body` or `additional_body_parameters`.

Source: signatures of `Embeddings.create` in openai 3 and of `embed` in cohere 7.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from service.reference.document import Node

BASE_URL = "http://127.0.0.1:8000"
"""The server's address in snippets: the default of `cenote serve`."""

_OPENAI_CLIENT = f'import openai\n\nclient = openai.OpenAI(base_url="{BASE_URL}/v1", api_key="unused")'

JSON = "application/json"
LINES = "application/x-ndjson"

WIDTH = 88
"""Characters of a line of a literal, where it can be broken at all."""

PYTHON_STEP, JSON_STEP = 4, 2
"""Spaces of one level, as each language is usually written."""

_PYTHON = {True: "True", False: "False", None: "None"}
_OPENAI_NAMES = ("model", "input", "dimensions", "encoding_format", "user")
_OPENAI_FORMATS = ("float", "base64")
_COHERE1_NAMES = ("model", "input_type", "texts", "images", "embedding_types", "truncate")
_COHERE2_NAMES = (*_COHERE1_NAMES, "inputs", "max_tokens", "output_dimension", "priority")

_STREAM_PYTHON = """\
import http.client
import json
import threading
from urllib.parse import urlsplit

url = urlsplit("{url}")
lines = [
    {line},
]


def send():
    for line in lines:  # any number of them, from anywhere
        data = json.dumps(line).encode() + b"\\n"
        connection.send(b"%x\\r\\n%b\\r\\n" % (len(data), data))
    connection.send(b"0\\r\\n\\r\\n")


connection = http.client.HTTPConnection(url.netloc, timeout=60)
connection.putrequest("POST", url.path)
connection.putheader("content-type", "application/x-ndjson")
connection.putheader("transfer-encoding", "chunked")
connection.endheaders()
threading.Thread(target=send, daemon=True).start()
for row in connection.getresponse():
    answer = json.loads(row)
    print(answer)
assert answer["type"] == "end", "the stream was cut off"
"""

_STREAM_TYPESCRIPT = """\
const answer = await fetch("{url}", {{
  method: "POST",
  headers: {{ "content-type": "application/x-ndjson" }},
  body: [
    {line},
  ].map((line) => JSON.stringify(line) + "\\n").join(""),
}});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.text());
"""


class Snippet(NamedTuple):
    """Code that makes one call."""

    language: str
    title: str
    code: str


def snippets(operation: Node, example: Node) -> list[Snippet]:
    """The call in every language; the SDKs only where they have such a call. `example` is empty if there is no body."""
    if example and _media_type(operation) == LINES:
        return _stream_snippets(BASE_URL + operation["path"], example["value"])
    return [
        Snippet("sh", "curl", _curl(operation, example)),
        Snippet("python", "Python, httpx", _httpx(operation, example)),
        *_sdk_snippets(operation["path"], example["value"] if example else {}),
        Snippet("ts", "TypeScript", _fetch(operation, example)),
    ]


def _media_type(operation: Node) -> str:
    """Of the success answer, the first where there are several."""
    return str(next(iter(operation["responses"]["200"]["content"])))


def _url(operation: Node) -> str:
    examples = {one["name"]: one["example"] for one in operation.get("parameters", [])}
    return BASE_URL + re.sub(r"\{(\w+)\}", lambda found: str(examples[found[1]]), operation["path"])


def _answers_json(operation: Node, example: Node) -> bool:
    """True if this call is answered with JSON, not with raw bytes that it asked for."""
    asked = example["value"].get("encoding_format") if example else None
    return _media_type(operation) == JSON and not str(asked).startswith("bytes")


def _curl(operation: Node, example: Node) -> str:
    if not example:
        return f"curl {_url(operation)}" + ("" if operation["method"] == "GET" else f" -X {operation['method']}")
    sink = "" if _answers_json(operation, example) else " -o vectors.bin"
    head = f"curl {_url(operation)} -H 'content-type: {JSON}'{sink} -d @- <<'JSON'"
    return f"{head}\n{json_literal(example['value'])}\nJSON"


def _httpx(operation: Node, example: Node) -> str:
    call = f'httpx.{operation["method"].lower()}("{_url(operation)}"'
    body = "" if not example else f"body = {python_literal(example['value'])}\n"
    argument = "" if not example else ", json=body, timeout=60"
    shown = "answer.json()" if _answers_json(operation, example) else "answer.headers, len(answer.content)"
    if not example and _media_type(operation) != JSON:
        shown = "answer.text"
    return f"import httpx\n\n{body}answer = {call}{argument})\nanswer.raise_for_status()\nprint({shown})"


def _fetch(operation: Node, example: Node) -> str:
    if not example:
        call = f'fetch("{_url(operation)}")'
    else:
        call = (
            f'fetch("{_url(operation)}", {{\n  method: "{operation["method"]}",\n'
            f'  headers: {{ "content-type": "{JSON}" }},\n'
            f"  body: JSON.stringify({json_literal(example['value'], indent=2)}),\n}})"
        )
    reader = "json" if _answers_json(operation, example) else "arrayBuffer" if example else "text"
    check = "if (!answer.ok) throw new Error(await answer.text());"
    return f"const answer = await {call};\n{check}\nconsole.log(await answer.{reader}());"


def _stream_snippets(url: str, line: Any) -> list[Snippet]:
    """Calls whose body and answer are lines. `docs/stream.md` says which clients send and read at the same time."""
    curl = f"curl {url} -N -X POST -T . -H 'content-type: {LINES}' <<'LINES'\n{json.dumps(line)}\nLINES"
    python = _STREAM_PYTHON.format(line=python_literal(line, indent=4), url=url).rstrip()
    typescript = _STREAM_TYPESCRIPT.format(line=json_literal(line, indent=4), url=url).rstrip()
    return [
        Snippet("sh", "curl", curl),
        Snippet("python", "Python, http.client", python),
        Snippet("ts", "TypeScript", typescript),
    ]


def _sdk_snippets(path: str, body: Mapping[str, Any]) -> list[Snippet]:
    """The call through an SDK; none where no SDK has it."""
    code = {
        "/v1/embeddings": lambda: _openai(body),
        "/v1/models": lambda: f"{_OPENAI_CLIENT}\nfor model in client.models.list():\n    print(model.id)",
        "/v1/embed": lambda: _cohere("Client", _COHERE1_NAMES, body),
        "/v2/embed": lambda: _cohere("ClientV2", _COHERE2_NAMES, body),
    }.get(path, str)()
    return [Snippet("python", f"Python, {'cohere' if 'cohere' in code else 'openai'}", code)] if code else []


def _openai(body: Mapping[str, Any]) -> str:
    if body.get("encoding_format", "float") not in _OPENAI_FORMATS:
        return ""
    named = {name: python_literal(body[name], indent=4) for name in _OPENAI_NAMES if name in body}
    others = {name: value for name, value in body.items() if name not in _OPENAI_NAMES}
    if others:
        named["extra_body"] = python_literal(others, indent=4)
    named = {"model": named.pop("model", '"builtin"'), "input": named.pop("input", "openai.omit")} | named
    call = _call("client.embeddings.create", named)
    return f"{_OPENAI_CLIENT}\nanswer = {call}\nprint(answer.data[0].embedding, answer.usage)"


def _cohere(client: str, names: tuple[str, ...], body: Mapping[str, Any]) -> str:
    """A script for one of Cohere's clients: `Client` is for its first API, `ClientV2` for its second."""
    named = {name: python_literal(value, indent=4) for name, value in body.items() if name in names}
    others = {name: value for name, value in body.items() if name not in names}
    if others:
        named["request_options"] = python_literal({"additional_body_parameters": others}, indent=4)
    made = f'client = cohere.{client}(base_url="{BASE_URL}", api_key="unused")'
    return f"import cohere\n\n{made}\nanswer = {_call('client.embed', named)}\nprint(answer.embeddings)"


def _call(function: str, arguments: Mapping[str, str]) -> str:
    lines = "".join(f"    {name}={value},\n" for name, value in arguments.items())
    return f"{function}(\n{lines})"


def json_literal(value: Any, *, indent: int = 0) -> str:
    """A value as JSON; `indent` is the number of spaces before the line that it starts on."""
    return _literal(value, indent, python=False)


def python_literal(value: Any, *, indent: int = 0) -> str:
    """A value as a Python literal, indented as by `json_literal`."""
    return _literal(value, indent, python=True)


def _literal(value: Any, indent: int, *, python: bool) -> str:
    line = _line(value, python=python)
    if len(line) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    deeper = indent + (PYTHON_STEP if python else JSON_STEP)
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {_literal(v, deeper, python=python)}" for key, v in value.items()]
        opening, closing = "{", "}"
    else:
        entries = [_literal(v, deeper, python=python) for v in value]
        opening, closing = "[", "]"
    body = ",\n".join(" " * deeper + entry for entry in entries)
    return f"{opening}\n{body}{',' if python else ''}\n{' ' * indent}{closing}"


def _line(value: Any, *, python: bool) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_line(v, python=python)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_line(v, python=python) for v in value) + "]"
    if python and (value is None or isinstance(value, bool)):
        return _PYTHON[value]
    return json.dumps(value, ensure_ascii=False)
