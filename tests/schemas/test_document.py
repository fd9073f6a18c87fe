"""The document is what the wire types say, in the form that client generators can use."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import validate

from schemas.endpoints.embed import COHERE_INPUT_TYPES
from schemas.errors import ERROR_CODES
from service.http.route_table import ROUTES
from service.openapi import build, render
from service.statuses import CODES, REASONS
from tests.conftest import ROOT
from tests.schemas.document_nodes import errors_of, walk

DOCUMENT = build()
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
OBJECTS = {name: schema for name, schema in SCHEMAS.items() if "properties" in schema}
REQUESTS = {name: schema for name, schema in OBJECTS.items() if schema["additionalProperties"] is False}
TAGGED = {
    ref.rsplit("/", 1)[1]: union["discriminator"]["propertyName"]
    for union in SCHEMAS.values()
    if "discriminator" in union
    for ref in union["discriminator"]["mapping"].values()
}
"""The field that tells each branch of a union from the others."""


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            yield operation["operationId"], operation


def contents() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, operation in operations():
        if "requestBody" in operation:
            (body,) = operation["requestBody"]["content"].values()
            yield f"{name} request", body
        for status, response in operation["responses"].items():
            for content in response["content"].values():
                yield f"{name} {status}", content


NAMED_EXAMPLES = [
    pytest.param(content["schema"], example["value"], id=f"{where} {name}")
    for where, content in contents()
    for name, example in content.get("examples", {}).items()
]


def test_the_committed_file_is_the_document() -> None:
    assert (ROOT / "openapi.json").read_bytes() == render(), "write it again: make openapi"


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"] == "3.1.0"


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert DOCUMENT["info"]["version"] == project["version"]


@pytest.mark.parametrize(("schema", "value"), NAMED_EXAMPLES)
def test_every_named_example_validates_against_its_schema(schema: dict[str, Any], value: Any) -> None:
    assert errors_of(value, schema, DOCUMENT) == []


def test_the_examples_cover_every_form_of_request() -> None:
    forms = {key for route in ROUTES for example in route.request_examples.values() for key in example["value"]}
    assert {"input", "messages", "inputs", "texts", "images", "instruction"} <= forms


@pytest.mark.parametrize("name", OBJECTS)
def test_every_property_has_a_description(name: str) -> None:
    assert [p for p, schema in OBJECTS[name]["properties"].items() if not schema.get("description")] == []


@pytest.mark.parametrize("name", REQUESTS)
def test_every_request_property_has_an_example(name: str) -> None:
    assert [p for p, schema in REQUESTS[name]["properties"].items() if not schema.get("examples")] == []


@pytest.mark.parametrize("name", OBJECTS)
def test_every_property_example_validates(name: str) -> None:
    for schema in OBJECTS[name]["properties"].values():
        for example in schema.get("examples", ()):
            assert errors_of(example, schema, DOCUMENT) == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_component_is_titled_and_described(name: str) -> None:
    assert SCHEMAS[name]["title"] == name
    assert SCHEMAS[name]["description"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_type_is_anonymous(name: str) -> None:
    """Objects, enums and unions below a component are references; a discriminator's one value is all that is inline."""
    for path, node in walk(SCHEMAS[name]):
        if path == "" or path.endswith(("/properties", "/discriminator")):
            continue
        is_tag = name in TAGGED and path == f"/properties/{TAGGED[name]}"
        inline = ("enum" in node and not is_tag) or "oneOf" in node or "properties" in node
        assert not inline, path
        assert node.get("type") != "object", path


@pytest.mark.parametrize("name", OBJECTS)
def test_no_object_has_a_property_of_its_own_name(name: str) -> None:
    """Generators name a variable after each, and then one variable has two types."""
    assert re.sub("(?<!^)(?=[A-Z])", "_", name).lower() not in OBJECTS[name]["properties"]


ANY_OF = ("MessageOrConversation",)
"""Of a `oneOf` whose branches name one type twice, typescript-fetch imports it twice and does not compile."""


@pytest.mark.parametrize("name", SCHEMAS)
def test_unions_are_one_of_with_named_branches_and_at_most_one_array(name: str) -> None:
    for path, node in walk(SCHEMAS[name]):
        assert "anyOf" not in node or name in ANY_OF, path
        branches = node.get("oneOf") or node.get("anyOf", [])
        assert all("$ref" in branch or "title" in branch for branch in branches), path
        resolved = [SCHEMAS[b["$ref"].rsplit("/", 1)[1]] if "$ref" in b else b for b in branches]
        arrays = [branch for branch in resolved if branch.get("type") == "array"]
        assert len(arrays) <= 1, path
        assert all(array.get("minItems") == 1 for array in arrays), path
        assert all("oneOf" not in array["items"] for array in arrays), path


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_have_neither_default_nor_null(name: str) -> None:
    for path, node in walk(REQUESTS[name]):
        if not path.endswith("/properties"):
            assert "default" not in node, path
            assert "null" not in json.dumps(node.get("type", "")), path


@pytest.mark.parametrize("name", sorted(set(OBJECTS) - set(REQUESTS)))
def test_answers_are_open_and_say_what_is_always_sent(name: str) -> None:
    assert OBJECTS[name]["additionalProperties"] is True
    assert OBJECTS[name].get("required") or name in ("CohereEmbedVectors", "TeiModelType")
    assert not any("default" in p for p in OBJECTS[name]["properties"].values())


@pytest.mark.parametrize("name", SCHEMAS)
def test_numbers_have_a_format_and_enums_a_type(name: str) -> None:
    for path, node in walk(SCHEMAS[name]):
        kinds = node.get("type", "")
        if path.endswith("/properties"):
            continue
        if "integer" in kinds or "number" in kinds:
            assert node["format"] in ("int32", "int64", "float"), path
        if "enum" in node:
            assert node["type"] == "string", path


def test_every_reference_leads_somewhere_and_no_component_is_left_over() -> None:
    refs = {node["$ref"].rsplit("/", 1)[1] for _, node in walk(DOCUMENT) if isinstance(node.get("$ref"), str)}
    assert refs == set(SCHEMAS) | set(DOCUMENT["components"]["headers"])


def test_every_discriminator_leads_to_the_branches_of_its_union() -> None:
    unions = [schema for schema in SCHEMAS.values() if "discriminator" in schema]
    assert len(unions) >= 2
    for union in unions:
        assert set(union["discriminator"]["mapping"].values()) == {branch["$ref"] for branch in union["oneOf"]}


def test_every_operation_has_one_success_and_one_error_schema() -> None:
    for name, operation in operations():
        bodies = {s: r["content"] for s, r in operation["responses"].items()}
        errors = {json.dumps(c["application/json"]["schema"]) for s, c in bodies.items() if s != "200"}
        assert len(errors) <= 1, name
        raw = ["application/octet-stream"] if name == "createEmbedding" else []
        assert list(bodies["200"])[1:] == raw, name


def test_overload_says_when_to_come_back() -> None:
    for name, operation in operations():
        for status, response in operation["responses"].items():
            assert "x-request-id" in response["headers"], name
            assert ("Retry-After" in response["headers"]) == (status in ("429", "503")), (name, status)
            assert ("retry-after-ms" in response["headers"]) == (status in ("429", "503")), (name, status)
            assert ("x-should-retry" in response["headers"]) == (status in ("409", "504")), (name, status)


def test_every_code_has_a_status_and_every_status_a_reason() -> None:
    assert sorted(code for codes in CODES.values() for code in codes) == sorted(ERROR_CODES)
    assert set(CODES) == set(REASONS)
    assert SCHEMAS["ErrorCode"]["enum"] == list(ERROR_CODES)


def test_input_types_are_documented() -> None:
    text = SCHEMAS["CohereEmbedRequest"]["properties"]["input_type"]["description"]
    assert all(f"`{name}`" in text for name in COHERE_INPUT_TYPES)
