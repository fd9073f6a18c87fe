"""Calls through the SDKs of OpenAI and Cohere, for the operations that these SDKs have.

A field that an SDK has no argument for goes into its `extra_body` or `additional_body_parameters`.

Source: signatures of `Embeddings.create` in openai 3 and of `embed` in cohere 7.
"""

from collections.abc import Mapping
from typing import Any

from service.reference.literal import python_literal
from service.reference.model import Example, Operation

_OPENAI_NAMES = ("model", "input", "dimensions", "encoding_format", "user")
_OPENAI_FORMATS = ("float", "base64")
_COHERE1_NAMES = ("model", "input_type", "texts", "images", "embedding_types", "truncate")
_COHERE2_NAMES = (*_COHERE1_NAMES, "inputs", "max_tokens", "output_dimension", "priority")


def sdk_call(operation: Operation, example: Example | None, base_url: str) -> tuple[str, str] | None:
    """The name of an SDK and a script that makes the call through it; None where no SDK has the call."""
    body = example.value if example else {}
    match operation.path:
        case "/v1/embeddings":
            return _openai(body, base_url)
        case "/v1/models":
            return _openai_models(base_url)
        case "/v1/embed":
            return _cohere("Client", _COHERE1_NAMES, body, base_url)
        case "/v2/embed":
            return _cohere("ClientV2", _COHERE2_NAMES, body, base_url)
    return None


def _openai(body: Mapping[str, Any], base_url: str) -> tuple[str, str] | None:
    if body.get("encoding_format", "float") not in _OPENAI_FORMATS:
        return None
    named = {name: python_literal(body[name], indent=4) for name in _OPENAI_NAMES if name in body}
    others = {name: value for name, value in body.items() if name not in _OPENAI_NAMES}
    if others:
        named["extra_body"] = python_literal(others, indent=4)
    named = {"model": named.pop("model", '"builtin"'), "input": named.pop("input", "openai.omit")} | named
    call = _call("client.embeddings.create", named)
    return "openai", f"{_openai_client(base_url)}\nanswer = {call}\nprint(answer.data[0].embedding, answer.usage)"


def _openai_models(base_url: str) -> tuple[str, str]:
    return "openai", f"{_openai_client(base_url)}\nfor model in client.models.list():\n    print(model.id)"


def _openai_client(base_url: str) -> str:
    return f'import openai\n\nclient = openai.OpenAI(base_url="{base_url}/v1", api_key="unused")'


def _cohere(client: str, names: tuple[str, ...], body: Mapping[str, Any], base_url: str) -> tuple[str, str]:
    """A script for one of Cohere's clients: `Client` is for its first API, `ClientV2` for its second."""
    named = {name: python_literal(value, indent=4) for name, value in body.items() if name in names}
    others = {name: value for name, value in body.items() if name not in names}
    if others:
        named["request_options"] = python_literal({"additional_body_parameters": others}, indent=4)
    made = f'client = cohere.{client}(base_url="{base_url}", api_key="unused")'
    return "cohere", f"import cohere\n\n{made}\nanswer = {_call('client.embed', named)}\nprint(answer.embeddings)"


def _call(function: str, arguments: Mapping[str, str]) -> str:
    lines = "".join(f"    {name}={value},\n" for name, value in arguments.items())
    return f"{function}(\n{lines})"
