"""The document is what the wire types say, in the form that client generators can use."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from openapi_spec_validator import validate

from schemas.endpoints.embed import COHERE_INPUT_TYPES
from schemas.errors import ERROR_CODES
from service.http.route_table import ROUTES
from service.openapi import build, render
from service.openapi.document import OTHER_FORMS
from service.statuses import CODES, REASONS
from tests.conftest import ROOT
from tests.schemas.document_nodes import errors_of, validator_of, walk

DOCUMENT = build()
VALIDATOR = validator_of(DOCUMENT)
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
REFERENCE = re.compile(r'"#/components/schemas/(\w+)"')
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
            for form in operation["requestBody"].get(OTHER_FORMS, ()):
                yield f"{name} {form['name']}", form | {"examples": {form["name"]: {"value": form["example"]}}}
        for status, response in operation["responses"].items():
            for content in response["content"].values():
                yield f"{name} {status}", content


def test_the_committed_file_is_the_document() -> None:
    assert (ROOT / "openapi.json").read_bytes() == render(), "write it again: make openapi"


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"] == "3.1.0"


def test_every_type_is_used() -> None:
    """From a path, or from the form of another server beside a body."""
    found, ahead = set[str](), REFERENCE.findall(json.dumps(DOCUMENT["paths"]))
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += REFERENCE.findall(json.dumps(SCHEMAS[name]))
    assert found == set(SCHEMAS)


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert DOCUMENT["info"]["version"] == project["version"]


def test_every_named_example_validates_against_its_schema() -> None:
    for where, content in contents():
        for name, example in content.get("examples", {}).items():
            assert errors_of(example["value"], content["schema"], VALIDATOR) == [], (where, name)


def test_the_examples_cover_every_form_of_request() -> None:
    forms = {key for route in ROUTES for example in route.request_examples.values() for key in example["value"]}
    assert {"input", "messages", "inputs", "texts", "images", "instruction"} <= forms


def properties(objects: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, schema in objects.items():
        yield from ((f"{name}.{key}", one) for key, one in schema["properties"].items())


def test_every_property_has_a_description_and_of_a_request_an_example() -> None:
    assert [where for where, schema in properties(OBJECTS) if not schema.get("description")] == []
    assert [where for where, schema in properties(REQUESTS) if not schema.get("examples")] == []


def test_every_property_example_validates() -> None:
    for where, schema in properties(OBJECTS):
        for example in schema.get("examples", ()):
            assert errors_of(example, schema, VALIDATOR) == [], where


def test_every_component_is_titled_and_described() -> None:
    assert [name for name, schema in SCHEMAS.items() if schema["title"] != name or not schema["description"]] == []


def below(schemas: Iterable[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each object below these components, with the component's name and its path there."""
    for name in schemas:
        yield from ((name, path, node) for path, node in walk(SCHEMAS[name]))


def test_no_type_is_anonymous() -> None:
    """Objects, enums and unions below a component are references; a discriminator's one value is all that is inline."""
    for name, path, node in below(SCHEMAS):
        if path == "" or path.endswith(("/properties", "/discriminator")):
            continue
        is_tag = name in TAGGED and path == f"/properties/{TAGGED[name]}"
        inline = ("enum" in node and not is_tag) or "oneOf" in node or "properties" in node
        assert not inline, (name, path)
        assert node.get("type") != "object", (name, path)


def test_no_object_has_a_property_of_its_own_name() -> None:
    """Generators name a variable after each, and then one variable has two types."""
    for name, schema in OBJECTS.items():
        assert re.sub("(?<!^)(?=[A-Z])", "_", name).lower() not in schema["properties"]


ANY_OF = ("MessageOrConversation",)
"""Of a `oneOf` whose branches name one type twice, typescript-fetch imports it twice and does not compile."""


def test_unions_are_one_of_with_named_branches_and_at_most_one_array() -> None:
    for name, path, node in below(SCHEMAS):
        assert "anyOf" not in node or name in ANY_OF, (name, path)
        branches = node.get("oneOf") or node.get("anyOf", [])
        assert all("$ref" in branch or "title" in branch for branch in branches), path
        resolved = [SCHEMAS[b["$ref"].rsplit("/", 1)[1]] if "$ref" in b else b for b in branches]
        arrays = [branch for branch in resolved if branch.get("type") == "array"]
        assert len(arrays) <= 1, path
        assert all(array.get("minItems") == 1 for array in arrays), path
        assert all("oneOf" not in array["items"] for array in arrays), path


def test_requests_have_neither_default_nor_null() -> None:
    for name, path, node in below(REQUESTS):
        if not path.endswith("/properties"):
            assert "default" not in node, (name, path)
            assert "null" not in json.dumps(node.get("type", "")), (name, path)


def test_answers_are_open_and_say_what_is_always_sent() -> None:
    for name in set(OBJECTS) - set(REQUESTS):
        assert OBJECTS[name]["additionalProperties"] is True, name
        assert OBJECTS[name].get("required") or name in ("CohereEmbedVectors", "TeiModelType")
        assert not any("default" in p for p in OBJECTS[name]["properties"].values()), name


def test_numbers_have_a_format_and_enums_a_type() -> None:
    for name, path, node in below(SCHEMAS):
        kinds = node.get("type", "")
        if path.endswith("/properties"):
            continue
        if "integer" in kinds or "number" in kinds:
            assert node["format"] in ("int32", "int64", "float"), (name, path)
        if "enum" in node:
            assert node["type"] == "string", (name, path)


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
