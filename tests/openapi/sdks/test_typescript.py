"""openapi-typescript with openapi-fetch, and @hey-api/openapi-ts: types that `tsc` accepts, and programs that use them.

The program is `typescript/usage/`. The folder of a generator has its names for the program (`client.ts`), the wrong
requests that its types must refuse, and the same four scripts in `package.json`: generate, types, any, usage.
"""

import re

import pytest

from tests.openapi.sdks.workshop import Workshop


@pytest.fixture(scope="module", params=["openapi_typescript", "hey_api"])
def workshop(request: pytest.FixtureRequest) -> Workshop:
    workshop = Workshop(request.param, request.param, "typescript")
    workshop.install_node()
    workshop.npm("generate")
    workshop.npm("types")
    return workshop


def test_the_types_and_their_use_compile(workshop: Workshop) -> None:
    """Also refused are those of `usage/refused.ts`: `tsc` reports a `@ts-expect-error` that is not needed."""
    assert (workshop.folder / "built" / "usage" / "main.js").is_file()


def test_no_type_is_any(workshop: Workshop) -> None:
    workshop.npm("any")


def test_no_type_was_given_a_number_for_want_of_a_name(workshop: Workshop) -> None:
    [types] = (*workshop.folder.glob("cenote.d.ts"), *workshop.folder.glob("cenote/types.gen.ts"))
    assert re.findall(r"(?:type|interface) \w*[a-z]\d+\b", types.read_text()) == []


def test_the_program_gets_typed_answers_from_a_live_server(workshop: Workshop, live: tuple[str, str]) -> None:
    workshop.npm("usage", *live)
