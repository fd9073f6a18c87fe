"""No component has a name that a client generator makes itself: it would put a number after one of the two."""

from collections import Counter
from typing import Any

import pytest

from service.openapi import build, build_sdk

MADE = ("Data", "Error", "Errors", "Response", "Responses")
"""Suffixes that @hey-api/openapi-ts appends to an operation's name, for its types."""


def names_made(document: dict[str, Any]) -> set[str]:
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    names = [operation["operationId"] for operation in operations]
    return {name[0].upper() + name[1:] + suffix for name in names for suffix in MADE}


@pytest.mark.parametrize("document", [build(), build_sdk()], ids=["full", "sdk"])
def test_no_component_has_the_name_of_an_operations_data_response_or_error(document: dict[str, Any]) -> None:
    made = names_made(document)
    assert {"CreateEmbeddingData", "ListModelsResponses"} <= made
    assert made.isdisjoint(document["components"]["schemas"])


@pytest.mark.parametrize("document", [build(), build_sdk()], ids=["full", "sdk"])
def test_no_two_names_differ_in_their_case_alone(document: dict[str, Any]) -> None:
    """Each is a file's name in some language, and two such files are one where the file system knows no case."""
    names = [name.lower() for name in (*document["components"]["schemas"], *names_made(document))]
    assert len(names) == len(set(names))


def test_no_two_enums_of_the_sdk_profile_share_a_value() -> None:
    """Go has one name space: its generator makes a constant of each value, without the enum's name."""
    enums = {name: schema["enum"] for name, schema in build_sdk()["components"]["schemas"].items() if "enum" in schema}
    values = Counter(value for each in enums.values() for value in each)
    assert [value for value, count in values.items() if count > 1] == []
