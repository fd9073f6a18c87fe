"""Snippets fit what they call: raw bytes go to a file, an SDK is shown where it has the call."""

import ast
from typing import Any

import pytest

from service.reference.document import Node, examples_of, operations
from service.reference.snippets import snippets

OPERATIONS = {operation["operationId"]: operation for operation in operations()}
CREATE = OPERATIONS["createEmbedding"]


def of(**body: Any) -> Node:
    return {"summary": "", "value": body}


def code(operation: Node, example: Node) -> dict[str, str]:
    return {snippet.title: snippet.code for snippet in snippets(operation, example)}


def test_a_call_that_asks_for_raw_bytes_does_not_read_json() -> None:
    calls = code(CREATE, of(input=["x"], encoding_format="bytes"))
    assert "-o vectors.bin" in calls["curl"]
    assert "answer.content" in calls["Python, httpx"]
    assert "arrayBuffer()" in calls["TypeScript"]
    assert "Python, openai" not in calls, "the SDK cannot read them"
    assert "answer.json()" in code(CREATE, of(input=["x"]))["Python, httpx"]


@pytest.mark.parametrize(
    ("name", "sdk"), [("createEmbedding", "openai"), ("listModels", "openai"), ("embed", "cohere"), ("getHealth", "")]
)
def test_an_sdk_is_shown_where_it_has_the_call(name: str, sdk: str) -> None:
    titles = set(code(OPERATIONS[name], examples_of(OPERATIONS[name])[0]))
    assert titles == {"curl", "Python, httpx", "TypeScript"} | ({f"Python, {sdk}"} if sdk else set())


def test_cohere_has_one_client_for_each_of_its_apis() -> None:
    first = OPERATIONS["embed"] | {"path": "/v1/embed"}
    example = of(texts=["x"], output_dimension=64)
    assert "cohere.Client(" in code(first, example)["Python, cohere"]
    assert (
        'request_options={"additional_body_parameters": {"output_dimension": 64}}'
        in (code(first, example)["Python, cohere"])
    )
    assert "output_dimension=64" in code(OPERATIONS["embed"], example)["Python, cohere"]


def test_what_an_sdk_has_no_name_for_travels_beside_the_rest() -> None:
    call = code(CREATE, of(messages=[], dimensions=64, instruction="it's"))["Python, openai"]
    assert 'model="builtin",\n    input=openai.omit,\n    dimensions=64,\n' in call
    assert 'extra_body={"messages": [], "instruction": "it\'s"}' in call


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_python_snippet_is_python_and_no_path_has_a_hole(operation: Node) -> None:
    for example in examples_of(operation):
        for snippet in snippets(operation, example):
            assert "{model_id}" not in snippet.code
            if snippet.language == "python":
                ast.parse(snippet.code)
