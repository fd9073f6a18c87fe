"""Calls of an operation as people would write them, one for each request example: curl, Python, TypeScript.

In: an operation of the model and one of its examples. Out: code that runs as it stands against a server on this
machine. Calls through the SDKs of OpenAI and Cohere are in `sdk_snippets`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from service.reference.literal import json_literal, python_literal
from service.reference.model import Example, Operation
from service.reference.read import read
from service.reference.sdk_snippets import sdk_call
from service.reference.stream_snippets import stream_calls

BASE_URL = "http://127.0.0.1:8000"
"""Where the snippets find the server: the address that `cenote serve` listens on unless told otherwise."""

JSON = "application/json"
LINES = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code that makes one call."""

    language: str
    """Of the code block: `sh`, `python`, `ts`."""
    title: str
    """What a reader chooses it by."""
    code: str


def snippets(operation: Operation, example: Example | None) -> tuple[Snippet, ...]:
    """The call in every language; the SDKs only where they have such a call.

    Args:
        operation: what to call.
        example: of its request; None when it takes no body.
    """
    if example is not None and operation.answers[0].media_type == LINES:
        return tuple(Snippet(*call) for call in stream_calls(BASE_URL + operation.path, example.value))
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


def typescript_snippets() -> Iterator[tuple[str, str]]:
    """Every TypeScript snippet of the reference with a name, each a module of its own for a type checker.

    Yields:
        Pairs such as `("createEmbedding-text", "const answer = await fetch(...")`; they use top-level `await`.
    """
    for operation in read().operations:
        for example in examples_of(operation):
            name = f"{operation.id}-{example.name}" if example else operation.id
            code = next(snippet.code for snippet in snippets(operation, example) if snippet.language == "ts")
            yield name, code


def _url(operation: Operation) -> str:
    path = re.sub(r"\{(\w+)\}", lambda found: operation.parameter_examples[found[1]], operation.path)
    return BASE_URL + path


def _answers_json(operation: Operation, example: Example | None) -> bool:
    """Whether this call is answered with JSON: an operation may also answer in raw bytes, when it is asked to."""
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
