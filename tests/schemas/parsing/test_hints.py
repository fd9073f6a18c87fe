"""Fields of other servers' APIs get a hint to ours."""

import pytest

from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.stream import StreamOptions
from schemas.parsing.hints import RENAMED, meant_by

V1, V2 = EmbeddingRequest.__struct_fields__, EmbedRequest.__struct_fields__
STREAM = StreamOptions.__struct_fields__


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("use_activation", V1, "normalize"),
        ("media_io_kwargs", V1, "image_background"),
        ("output_dimension", V1, "dimensions"),
        ("dimensions", V2, "output_dimension"),
        ("encoding_format", V2, "embedding_types"),
        ("task", V1, "input_type"),
        ("truncation", V2, "truncate"),
        ("output_dtype", V1, "embed_dtype"),
        ("truncate", STREAM, "truncate_prompt_tokens"),
        ("task", V2, "input_type"),
        ("use_activation", V2, None),
        ("dimension", V1, "dimensions"),
        ("mm_processor_kwargs", V1, None),
    ],
)
def test_a_field_of_another_server_gets_a_hint_to_ours(name: str, known: tuple[str, ...], meant: str | None) -> None:
    assert meant_by(name, known) == meant


def test_every_name_here_is_a_field() -> None:
    assert {ours for names in RENAMED.values() for ours in names} <= {*V1, *V2}
