"""Each kind of output crosses the socket, knows its bytes, and has its types' JSON."""

import json
from typing import get_args

import msgspec
import pytest

from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embed_vectors import EmbeddingType
from service.errors import InputError
from service.http.responses.answer import in_parts, slices
from service.ipc.messages import Request
from service.outputs.ask import needs
from service.outputs.features import FeaturesAsk
from service.outputs.kinds import KINDS, asks_of, embedding_types, kind_of
from service.outputs.plan import TokenPlan
from tests.service.outputs.cases import CASES, OFFER, Case


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def test_it_crosses_the_socket(case: Case) -> None:
    sent = Request(id=1, plan=TokenPlan([1, 2]), asks=(case.ask, CASES["sparse"].ask))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=Request) == sent


def test_a_row_that_is_missing_or_cut_is_noticed(case: Case) -> None:
    if isinstance(case.ask, FeaturesAsk):  # no forward makes them
        return
    assert case.ask.are_whole(case.rows, case.num_vectors)
    for name, row in case.rows.items():
        assert not case.ask.are_whole({**case.rows, name: row[:-1]}, case.num_vectors)
        assert not case.ask.are_whole({one: row for one, row in case.rows.items() if one != name}, case.num_vectors)


def test_its_types_in_json_with_those_of_a_failed_input(case: Case) -> None:
    for type_, want in case.json.items():
        kind = kind_of(type_)
        assert isinstance(case.ask, kind)
        values = [kind.json(rows, type_, 8, OFFER) for rows in (case.rows, {})]
        found, empty = json.loads(b"".join(slices(in_parts(values))))
        assert found == want
        assert not any(empty.values() if isinstance(empty, dict) and "indices" in empty else [empty])


def test_every_type_is_of_one_kind() -> None:
    assert sorted(type_ for kind in KINDS.values() for type_ in kind.types) == sorted(get_args(EmbeddingType))


def test_types_of_a_kind_are_one_ask() -> None:
    types = embedding_types(["multi_int8", "float", "base64", "sparse_tokens", "int8", "float"], OFFER)
    tokens, dense, sparse = asks_of(EmbedRequest(), types, 8, "", OFFER)
    assert (dense.output_dtypes, tokens.output_dtypes) == (("float32", "int8"), ("int8",))  # type: ignore[attr-defined]
    assert needs((tokens, dense, sparse)) == needs((sparse,)) == "all"
    assert needs((dense,)) == "pooled"
    with pytest.raises(InputError, match="got 12; binary and ubinary pack 8 dimensions a byte"):
        asks_of(EmbedRequest(), ["float", "multi_ubinary"], 12, "", OFFER)
