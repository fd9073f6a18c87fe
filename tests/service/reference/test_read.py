"""The reference has every field, type, code and limit that there is, and none that there is not."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from schemas import limits
from schemas.errors import ERROR_CODES
from service.http.route_table import ROUTES
from service.openapi.components import component_name
from service.reference.model import Phrase, TypeLink
from service.reference.read import read

REFERENCE = read()
TYPES = {named.name: named for named in REFERENCE.types} | {
    body.type.name: body.type
    for operation in REFERENCE.operations
    for body in (operation.request, *operation.answers, *(failure.body for failure in operation.failures))
    if body and body.type
}


def structs() -> dict[str, set[str]]:
    """Keys on the wire by type, of every struct that a route takes or answers, as msgspec knows them."""
    roots = [kind for route in ROUTES for kind in (route.request, route.response, route.error) if kind]
    return dict(pair for info in msgspec.inspect.multi_type_info(roots) for pair in below(info))


def below(info: Any) -> Iterator[tuple[str, set[str]]]:
    if isinstance(info, msgspec.inspect.StructType):
        tag = {info.tag_field} if info.tag_field else set()
        yield component_name(info.cls.__name__), {field.encode_name for field in info.fields} | tag
        children = [field.type for field in info.fields]
    else:
        held = (getattr(info, name, None) for name in ("types", "item_type", "value_type", "item_types", "type"))
        children = [child for value in held if value for child in (value if isinstance(value, tuple) else (value,))]
    for child in children:
        if isinstance(child, msgspec.inspect.Type):
            yield from below(child)


def phrases() -> Iterator[Phrase]:
    for named in TYPES.values():
        yield from named.forms
        yield from (field.type for field in named.fields)


def test_the_documented_fields_are_those_of_the_wire_types() -> None:
    documented = {name: {field.name for field in named.fields} for name, named in TYPES.items() if named.fields}
    assert documented == structs()


def test_every_operation_is_there_once_and_in_its_group() -> None:
    assert sorted(o.id for o in REFERENCE.operations) == sorted(route.operation_id for route in ROUTES)
    assert [group.name for group in REFERENCE.groups if not group.operations] == []


def test_every_link_of_a_type_leads_to_a_table_of_its_own() -> None:
    listed = {named.name for named in REFERENCE.types}
    links = {word.name for phrase in phrases() for word in phrase if isinstance(word, TypeLink)}
    assert {"ContentPart", "Usage", "Role"} <= links
    assert links <= listed
    assert {f.body.type.name for o in REFERENCE.operations for f in o.failures if f.body.type} <= listed


def test_no_table_of_fields_is_written_twice_unless_operations_share_the_type() -> None:
    assert "EmbeddingRequest" not in {named.name for named in REFERENCE.types}
    assert {"ModelCard", "Health"} <= {named.name for named in REFERENCE.types}


def test_what_absence_means_stands_apart_from_the_description() -> None:
    fields = {field.name: field for field in TYPES["EmbeddingRequest"].fields}
    assert fields["encoding_format"].absent == "`float`"
    assert fields["truncate_prompt_tokens"].absent == "a prompt over the limit is an error"
    assert "Absent" not in fields["truncate_prompt_tokens"].description
    assert fields["truncate_prompt_tokens"].description.endswith("images or the template.")
    assert fields["input"].absent == ""


def test_probes_fail_without_a_code_and_embedding_routes_with_one() -> None:
    by_id = {operation.id: operation for operation in REFERENCE.operations}
    assert [failure.codes for failure in by_id["getReadiness"].failures] == [()]
    assert all(failure.codes for failure in by_id["createEmbedding"].failures)


def test_every_code_and_every_limit_is_listed() -> None:
    assert sorted(code.name for code in REFERENCE.codes) == sorted(ERROR_CODES)
    numbers = {name: value for name, value in vars(limits).items() if name.isupper()}
    assert numbers
    assert {limit.name: limit.value for limit in REFERENCE.limits} == numbers


@pytest.mark.parametrize("limit", REFERENCE.limits, ids=lambda limit: limit.name)
def test_every_limit_says_what_it_bounds(limit: Any) -> None:
    assert limit.meaning.endswith(".")
