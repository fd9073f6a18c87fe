"""The reference has every field, type, code and limit that there is, and none that there is not."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from schemas import limits
from schemas.dialects.reading import DIALECTS
from schemas.errors import ERROR_CODES
from service.http.route_table import ROUTES
from service.openapi.components import component_name
from service.reference.document import groups, listed_types, schemas
from service.reference.markdown import failure_row, render_markdown

PAGE = render_markdown()
ROWS = re.findall(r"^\| `(\w+)` \| ([^|]*) \| (.*) \|$", PAGE, re.M)


def structs() -> dict[str, set[str]]:
    """Keys on the wire by type, of every struct that a route takes or answers, as msgspec knows them."""
    roots = [kind for route in ROUTES for kind in (route.request, route.response, route.error) if kind]
    roots += [kind for one in DIALECTS for kind in (one.body, one.response) if kind]
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


def test_the_documented_fields_are_those_of_the_wire_types() -> None:
    documented = {name: set(schema["properties"]) for name, schema in schemas().items() if schema.get("properties")}
    assert documented == structs()
    for name in documented.keys() & set(listed_types()):
        table = PAGE.partition(f"\n### {name}\n")[2].partition("\n#")[0]
        assert set(re.findall(r"^\| `([^`]+)` \|", table, re.M)) == documented[name]


def test_every_operation_is_there_once_and_in_its_group() -> None:
    grouped = [operation["operationId"] for *_, some in groups() for operation in some]
    assert sorted(grouped) == sorted(route.operation_id for route in ROUTES)
    assert [name for name, _, some in groups() if not some] == []
    assert re.findall(r"^### ([a-z]\w+)$", PAGE, re.M) == grouped


def test_every_link_of_a_type_leads_to_a_table_of_its_own() -> None:
    links = set(re.findall(r"\[([A-Z]\w+)\]\(#[a-z]", PAGE)) - {"Types"}
    assert {"ContentPart", "Usage", "Role", "ErrorResponse"} <= links <= set(listed_types())


def test_no_table_of_fields_is_written_twice_unless_operations_share_the_type() -> None:
    assert "TokenizeRequest" not in listed_types()
    assert {"ModelCard", "Health", "EmbeddingRequest"} <= set(listed_types())


def test_what_absence_means_stands_apart_from_the_description() -> None:
    table, *_ = re.findall(r"#### Body: EmbeddingRequest\n(.*?)\n#### ", PAGE, re.DOTALL)
    fields = {name: rest for name, *rest in re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \| (.*) \|$", table, re.M)}
    assert fields["encoding_format"][0] == "`float`"
    absent, description = fields["truncate_prompt_tokens"]
    assert absent == "what `truncate_long_texts` of `/v1/models` says: an error, or -1"
    assert "Absent" not in description
    assert description.endswith("images or the template.")
    assert fields["input"][0] == ""


def test_probes_fail_without_a_code_and_embedding_routes_with_one() -> None:
    assert failure_row(503, "Health")[2:] == ("—", "[Health](#health)")
    assert "[`overloaded`](#error-codes)" in failure_row(503, "ErrorResponse")[2]
    ready = PAGE.partition("### getReadiness")[2].partition("\n### ")[0]
    assert "| 503 |" in ready
    assert "#error-codes" not in ready


def test_every_code_and_every_limit_is_listed_with_what_it_says() -> None:
    assert sorted(name for name, status, _ in ROWS if status.isdigit() and name.islower()) == sorted(ERROR_CODES)
    numbers = {name: f"{value:,}" for name, value in vars(limits).items() if name.isupper()}
    listed = {name: (value, meaning) for name, value, meaning in ROWS if name.isupper()}
    assert numbers
    assert {name: value for name, (value, _) in listed.items()} == numbers
    assert all(meaning.endswith(".") for _, meaning in listed.values())
