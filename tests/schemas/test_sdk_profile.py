"""The SDK profile is a smaller document that says nothing which the document does not."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_schema_validator import OAS30Validator
from openapi_spec_validator import validate

from schemas.parsing.decode import decode
from service.http.route_table import ROUTES
from service.openapi import build, build_sdk, render_sdk
from service.openapi.components import component_name
from service.openapi.named import NAMED
from service.openapi.openapi30 import to_openapi30
from tests.conftest import ROOT
from tests.schemas.document_nodes import errors_of, validator_of, walk

FULL, SDK = build(), build_sdk()
SCHEMAS: dict[str, Any] = SDK["components"]["schemas"]
VALIDATOR, SDK_VALIDATOR = validator_of(FULL), validator_of(SDK, OAS30Validator)
REQUESTS = {route.operation_id: route.request for route in ROUTES if route.request is not None}


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    return SCHEMAS[reference.rsplit("/", 1)[1]] if reference else schema


def sdk_errors(value: Any, schema: dict[str, Any]) -> list[str]:
    return errors_of(value, schema, SDK_VALIDATOR)


def bodies() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every body of the profile: its operation, its place, its schema and its examples."""
    for methods in SDK["paths"].values():
        for operation in methods.values():
            places = {"request": operation.get("requestBody")} | operation["responses"]
            for place, body in places.items():
                for content in (body or {"content": {}})["content"].values():
                    yield operation["operationId"], place, content


def test_the_committed_file_is_the_derivation() -> None:
    assert (ROOT / "openapi-sdk.json").read_bytes() == render_sdk(), "write it again: make openapi"


def test_the_profile_is_valid_openapi_3_0_3() -> None:
    validate(SDK)
    assert SDK["openapi"] == "3.0.3"


def test_no_union_holds_an_array_and_each_has_a_discriminator() -> None:
    unions = [(path, node) for path, node in walk(SDK) if "oneOf" in node]
    assert unions
    for path, node in unions:
        assert [b for b in node["oneOf"] if resolved(b).get("type") == "array"] == [], path
        assert len(node["discriminator"]["mapping"]) == len(node["oneOf"]), path


def test_nothing_of_3_1_is_left() -> None:
    for path, node in walk(SDK):
        if path.endswith("/properties"):
            continue
        assert isinstance(node.get("type", ""), str), path
        assert not isinstance(node.get("examples"), list), path
        assert "const" not in node, path
        assert "$ref" not in node or len(node) == 1, path


def test_the_forms_are_those_that_generators_can_send() -> None:
    properties = SCHEMAS["EmbeddingRequest"]["properties"]
    assert "encoding_format" not in properties
    assert SCHEMAS["EmbeddingInput"] == SCHEMAS["EmbeddingInput"] | {"type": "array", "items": {"type": "string"}}
    assert SCHEMAS["Embedding"]["items"] == {"type": "number", "format": "float"}
    assert resolved(properties["messages"]["items"])["title"] == "Message"
    image = SCHEMAS["ImageUrlPart"]["properties"]["image_url"]
    assert image["allOf"] == [{"$ref": "#/components/schemas/ImageUrl"}]
    assert "documents" in SCHEMAS["AnyRerankRequest"]["properties"]
    assert "texts" not in SCHEMAS["AnyRerankRequest"]["properties"], "whose answer would be a list"


@pytest.mark.parametrize("name", [component_name(named.name) for named in NAMED if named.sdk_description])
def test_a_union_that_may_be_null_may_be_null_in_one_form_too(name: str) -> None:
    has_null = any(branch.get("type") == "null" for branch in FULL["components"]["schemas"][name]["oneOf"])
    assert SCHEMAS[name].get("nullable", False) == has_null
    assert (sdk_errors(None, SCHEMAS[name]) == []) == has_null


def test_json_is_the_one_media_type_where_an_operation_also_answers_in_bytes() -> None:
    document = build()
    answer = document["paths"]["/v1/embeddings"]["post"]["responses"]["200"]["content"]
    answer["application/octet-stream"] = {"schema": {"type": "string", "format": "binary"}}
    profile = to_openapi30(document)["paths"]
    assert list(profile["/v1/embeddings"]["post"]["responses"]["200"]["content"]) == ["application/json"]
    assert list(profile["/metrics"]["get"]["responses"]["200"]["content"]) == ["text/plain"]


def test_operations_are_those_of_the_document() -> None:
    names = [{m: o["operationId"] for ms in d["paths"].values() for m, o in ms.items()} for d in (FULL, SDK)]
    assert names[0] == names[1]
    assert list(FULL["paths"]) == list(SDK["paths"])


def test_every_reference_leads_somewhere_and_no_schema_is_left_over() -> None:
    refs = {node["$ref"].rsplit("/", 1)[1] for _, node in walk(SDK) if isinstance(node.get("$ref"), str)}
    assert refs == set(SCHEMAS) | set(SDK["components"]["headers"])


def test_a_body_has_one_media_type_and_its_examples_are_also_the_documents() -> None:
    for operation, place, content in bodies():
        name = content["schema"].get("$ref", "").rsplit("/", 1)[-1]
        for example in content.get("examples", {}).values():
            assert sdk_errors(example["value"], content["schema"]) == [], (operation, place)
            assert errors_of(example["value"], FULL["components"]["schemas"][name], VALIDATOR) == [], (operation, place)
            if place == "request":
                decode(json.dumps(example["value"]).encode(), REQUESTS[operation])
        if place == "request":
            assert content["examples"], f"no example of {operation} is left for people who read the profile"


def test_every_example_of_a_schema_is_also_the_documents() -> None:
    for name, body in SCHEMAS.items():
        full = FULL["components"]["schemas"][name]
        for key, schema in {"": body, **body.get("properties", {})}.items():
            if "example" in schema:
                assert sdk_errors(schema["example"], schema) == [], (name, key)
                assert errors_of(schema["example"], full["properties"][key] if key else full, VALIDATOR) == [], (
                    name,
                    key,
                )


def test_every_request_field_of_the_profile_has_an_example() -> None:
    closed = {name: s for name, s in SCHEMAS.items() if s.get("additionalProperties") is False}
    assert "EmbeddingRequest" in closed
    for name, schema in closed.items():
        assert [p for p, body in schema["properties"].items() if "example" not in body] == [], name
