"""A stream's query becomes the request that its lines share; what is wrong of either is asked in `test_stream.py`."""

import pytest

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.stream import StreamOptions
from schemas.errors import RuleError
from schemas.parsing.stream_request import base_request, read_options

QUERY = b"model=builtin&instruction=find%20it&dimensions=64&normalize=false&truncate_prompt_tokens=-1"


def test_options_are_fields_of_a_request() -> None:
    base = base_request(read_options(QUERY))
    for name in StreamOptions.__struct_fields__:
        assert name in EmbeddingRequest.__struct_fields__
        assert getattr(base, name) == getattr(read_options(QUERY), name)
    assert (base.dimensions, base.normalize, base.truncate_prompt_tokens) == (64, False, -1)
    assert read_options(b"") == StreamOptions()


def test_options_that_are_not_known_may_be_passed_over() -> None:
    assert read_options(b"x=64&dimensions=32", ignore_unknown=True).dimensions == 32
    with pytest.raises(RuleError, match="`dimension`: unknown field; did you mean `dimensions`"):
        read_options(b"dimension=64", ignore_unknown=True)
