"""A stream's query and lines become the requests that would give the same vectors."""

import msgspec
import pytest

from schemas.content.messages import Message
from schemas.content.parts import Content, TextPart
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.stream import StreamLine, StreamOptions
from schemas.errors import RuleError
from schemas.parsing.stream_request import base_request, line_request, read_line, read_options

QUERY = b"model=builtin&instruction=find%20it&dimensions=64&normalize=false&truncate_prompt_tokens=-1"
BASE = base_request(read_options(QUERY))
SYSTEM = Message(role="system", content="of its own")
USER = Message(role="user", content="a door")


def test_options_are_fields_of_a_request() -> None:
    for name in StreamOptions.__struct_fields__:
        assert name in EmbeddingRequest.__struct_fields__
        assert getattr(BASE, name) == getattr(read_options(QUERY), name)
    assert (BASE.dimensions, BASE.normalize, BASE.truncate_prompt_tokens) == (64, False, -1)
    assert read_options(b"") == StreamOptions()


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        (b"dimension=64", "unknown_field", "dimension"),
        (b"dimensions=", "invalid_request", "dimensions"),
        (b"dimensions=0", "invalid_request", "dimensions"),
        (b"dimensions=1e2", "invalid_request", "dimensions"),
        (b"dimensions=100.0", "invalid_request", "dimensions"),
        (b"truncate_prompt_tokens=1e1", "invalid_request", "truncate_prompt_tokens"),
        (b"embed_dtype=float64", "invalid_request", "embed_dtype"),
        (b"model=a&model=a", "invalid_request", None),
        (b"model=%ff", "invalid_request", None),
        (b"&".join(b"a%d=1" % i for i in range(65)), "invalid_request", None),
    ],
)
def test_options_that_are_wrong_are_refused_by_name(query: bytes, code: str, param: str | None) -> None:
    with pytest.raises(RuleError) as caught:
        read_options(query)
    assert (caught.value.code, caught.value.param) == (code, param)


def test_options_that_are_not_known_may_be_passed_over() -> None:
    assert read_options(b"x=64&dimensions=32", ignore_unknown=True).dimensions == 32
    with pytest.raises(RuleError, match="`dimension`: unknown field; did you mean `dimensions`"):
        read_options(b"dimension=64", ignore_unknown=True)


def test_a_line_is_one_input_of_a_request() -> None:
    assert line_request(StreamLine(input="a"), BASE) == msgspec.structs.replace(BASE, input="a")
    parts = [TextPart(text="a")]
    assert line_request(StreamLine(content=parts), BASE).inputs == [Content(content=parts)]
    assert line_request(StreamLine(messages=[USER]), BASE).messages == [USER]


def test_an_instruction_of_its_own_comes_before_the_streams() -> None:
    assert line_request(StreamLine(input="a"), BASE).instruction == "find it"
    assert line_request(StreamLine(input="a", instruction=""), BASE).instruction == ""
    assert line_request(StreamLine(messages=[SYSTEM, USER]), BASE).instruction is None


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{}", "missing_input"),
        (b'{"input": "a", "messages": [{"role": "user", "content": "a"}]}', "conflicting_input"),
        (b'{"messages": [{"role": "system", "content": "a"}]}', "empty_input"),
        (b'{"messages": [{"role": "system", "content": "a"}], "instruction": "b"}', "conflicting_input"),
        (b'{"input": ["a"]}', "invalid_request"),
        (b'{"input": "a", "id": 7}', "invalid_request"),
        (b'{"input": "a", "dimensions": 64}', "unknown_field"),
        (b'["a"]', "invalid_request"),
    ],
)
def test_a_line_that_is_wrong_is_refused(line: bytes, code: str) -> None:
    with pytest.raises(RuleError) as caught:
        line_request(read_line(line), BASE)
    assert caught.value.code == code
