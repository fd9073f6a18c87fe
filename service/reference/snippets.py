"""Calls of an operation as people write them, one for each request example: curl, Python, TypeScript.

The code runs as it stands against a server on this machine. Calls through the SDKs of OpenAI and Cohere are in
`sdk_snippets`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from service.reference.literal import json_literal, python_literal
from service.reference.model import Example, Operation
from service.reference.sdk_snippets import sdk_call

BASE_URL = "http://127.0.0.1:8000"
"""The server's address in snippets: the default of `cenote serve`."""

JSON = "application/json"
LINES = "application/x-ndjson"

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


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code that makes one call."""

    language: str
    """Of the code block: `sh`, `python`, `ts`."""
    title: str
    """Name of the language and library."""
    code: str


def snippets(operation: Operation, example: Example | None) -> tuple[Snippet, ...]:
    """The call in every language; the SDKs only where they have such a call. `example` is None if there is no body."""
    if example is not None and operation.answers[0].media_type == LINES:
        return _stream_snippets(BASE_URL + operation.path, example.value)
    sdk = sdk_call(operation, example, BASE_URL)
    return (
        Snippet("sh", "curl", _curl(operation, example)),
        Snippet("python", "Python, httpx", _httpx(operation, example)),
        *((Snippet("python", f"Python, {sdk[0]}", sdk[1]),) if sdk else ()),
        Snippet("ts", "TypeScript", _fetch(operation, example)),
    )


def examples_of(operation: Operation) -> tuple[Example | None, ...]:
    """The examples to write calls for: those of the request, or the one call without a body."""
    return operation.request.examples if operation.request else (None,)


def _url(operation: Operation) -> str:
    path = re.sub(r"\{(\w+)\}", lambda found: operation.parameter_examples[found[1]], operation.path)
    return BASE_URL + path


def _answers_json(operation: Operation, example: Example | None) -> bool:
    """True if this call is answered with JSON, not with raw bytes that it asked for."""
    asked = example.value.get("encoding_format") if example else None
    return operation.answers[0].media_type == JSON and not str(asked).startswith("bytes")


def _curl(operation: Operation, example: Example | None) -> str:
    if example is None:
        return f"curl {_url(operation)}" + ("" if operation.method == "GET" else f" -X {operation.method}")
    sink = "" if _answers_json(operation, example) else " -o vectors.bin"
    head = f"curl {_url(operation)} -H 'content-type: {JSON}'{sink} -d @- <<'JSON'"
    return f"{head}\n{json_literal(example.value)}\nJSON"


def _httpx(operation: Operation, example: Example | None) -> str:
    call = f'httpx.{operation.method.lower()}("{_url(operation)}"'
    body = "" if example is None else f"body = {python_literal(example.value)}\n"
    argument = "" if example is None else ", json=body, timeout=60"
    shown = "answer.json()" if _answers_json(operation, example) else "answer.headers, len(answer.content)"
    if example is None and operation.answers[0].media_type != JSON:
        shown = "answer.text"
    return f"import httpx\n\n{body}answer = {call}{argument})\nanswer.raise_for_status()\nprint({shown})"


def _fetch(operation: Operation, example: Example | None) -> str:
    if example is None:
        call = f'fetch("{_url(operation)}")'
    else:
        call = (
            f'fetch("{_url(operation)}", {{\n  method: "{operation.method}",\n'
            f'  headers: {{ "content-type": "{JSON}" }},\n'
            f"  body: JSON.stringify({json_literal(example.value, indent=2)}),\n}})"
        )
    reader = "json" if _answers_json(operation, example) else "arrayBuffer" if example else "text"
    check = "if (!answer.ok) throw new Error(await answer.text());"
    return f"const answer = await {call};\n{check}\nconsole.log(await answer.{reader}());"


def _stream_snippets(url: str, line: Any) -> tuple[Snippet, ...]:
    """Calls whose body and answer are lines. `docs/stream.md` says which clients send and read at the same time."""
    curl = f"curl {url} -N -X POST -T . -H 'content-type: {LINES}' <<'LINES'\n{json.dumps(line)}\nLINES"
    python = _STREAM_PYTHON.format(line=python_literal(line, indent=4), url=url).rstrip()
    typescript = _STREAM_TYPESCRIPT.format(line=json_literal(line, indent=4), url=url).rstrip()
    return (
        Snippet("sh", "curl", curl),
        Snippet("python", "Python, http.client", python),
        Snippet("ts", "TypeScript", typescript),
    )
