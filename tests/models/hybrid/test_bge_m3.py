"""BGE-M3's three kinds of vector are those of its formulas, from one forward; its heads are read safely."""

import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.execution.isolation import Isolation
from service.engine.scheduling.coalescing import Coalescing
from service.engine.scheduling.result_cache import ResultCache
from service.engine.scheduling.waiting import Waiting
from service.errors import ModelError
from service.ipc.messages import Failure
from service.outputs.ask import Asks
from service.outputs.dense import DenseAsk
from service.outputs.sparse import SPARSE, SparseAsk, unpack_sparse
from service.outputs.tokens import TokensAsk
from tests.conftest import TOLERANCE
from tests.models.hybrid.checkpoints import Reference, Vectors, bge_m3
from tests.models.served import Served, load
from tests.models.text.checkpoints import SIZES
from tests.models.text.texts import TEXTS

WIDTH = SIZES["hidden_size"]
DENSE: Asks = (DenseAsk(dimensions=WIDTH),)
LEXICAL: Asks = (SparseAsk(dimensions=WIDTH),)
ALL: Asks = (*DENSE, TokensAsk(dimensions=WIDTH), *LEXICAL)
SOME = (DENSE, ALL, LEXICAL)


class Hybrid(Served):
    """One whose vectors are of all kinds."""

    def asked(self, texts: Sequence[str], asks: Sequence[Asks]) -> list[Waiting[torch.Tensor]]:
        return self.waiting(self.text_prompts(texts, side="right"), asks)

    def isolated(self, texts: Sequence[str], asks: Sequence[Asks]) -> list[dict[str, bytes]]:
        isolation = Isolation(self.runner, lambda *_: None, EncoderCache(0), Coalescing(ResultCache(1 << 20)), 10_000)
        rows = [row for _, row in isolation.embed(self.asked(texts, asks))]
        assert not any(isinstance(row, Failure) for row in rows)
        return [row for row in rows if isinstance(row, dict)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bge_m3(tmp_path_factory.mktemp("m3") / "bge-m3-small")


@pytest.fixture(scope="module")
def served(folder: Path) -> Hybrid:
    return Hybrid(folder)


@pytest.fixture(scope="module")
def want(folder: Path) -> list[Vectors]:
    return Reference(folder).all(TEXTS)


def check(row: dict[str, bytes], want: Vectors, asks: Asks) -> None:
    dense, sparse, tokens = want
    assert len(row) == len(asks)
    if asks != LEXICAL:
        assert np.abs(np.frombuffer(row["float32"], "<f4") - dense.numpy()).max() <= TOLERANCE
    if asks == ALL:
        got = np.frombuffer(row[TokensAsk.row + "float32"], "<f4").reshape(-1, WIDTH)
        assert got.shape == tokens.shape
        assert np.abs(got - tokens.numpy()).max() <= TOLERANCE
    if asks != DENSE:
        indices, values = unpack_sparse(row[SPARSE])
        assert (np.diff(indices.astype(int)) > 0).all()
        got = dict(zip(indices.tolist(), values.tolist(), strict=True))
        assert {one for one, weight in got.items() if weight > 1e-6} == {one for one in sparse if sparse[one] > 1e-6}
        assert max((abs(got.get(one, 0.0) - sparse[one]) for one in sparse), default=0.0) <= TOLERANCE


def test_every_kind_is_the_references_in_batches_of_all_kinds_and_alone(served: Hybrid, want: list[Vectors]) -> None:
    outputs = [SOME[i % len(SOME)] for i in range(len(TEXTS))]
    for row, one, output in zip(served.isolated(TEXTS, outputs), want, outputs, strict=True):
        check(row, one, output)
    for text, one in zip(TEXTS, want, strict=True):
        check(served.isolated([text], [ALL])[0], one, ALL)
        check(served.isolated([text], [DENSE])[0], one, DENSE)


def test_one_forward_gives_all_kinds(served: Hybrid, monkeypatch: pytest.MonkeyPatch) -> None:
    num_tokens: list[int] = []
    before = served.model.backbone._part

    def counted(token_ids: torch.Tensor, *rest: object) -> torch.Tensor:
        num_tokens.append(len(token_ids))
        return before(token_ids, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(served.model.backbone, "_part", counted)
    waiting = served.asked(TEXTS[:3], [ALL] * 3)
    served.isolated(TEXTS[:3], [ALL] * 3)
    assert num_tokens == [sum(len(one.request.plan.ids) for one in waiting)]


def test_dense_vectors_are_kept_and_never_answer_for_other_kinds(served: Hybrid) -> None:
    coalescing: Coalescing[torch.Tensor] = Coalescing(ResultCache(1 << 20))
    isolation = Isolation(served.runner, lambda *_: None, EncoderCache(0), coalescing, 10_000)
    first, second = served.asked(TEXTS[:2], [DENSE, ALL])
    assert not coalescing.spares(first)
    assert not coalescing.spares(second)
    isolation.embed([first, second])
    assert len(coalescing.results.vectors) == 1
    (again,), (other,) = served.asked(TEXTS[:1], [DENSE]), served.asked(TEXTS[:1], [ALL])
    assert coalescing.spares(again)
    assert not coalescing.spares(other)


def test_heads_as_safetensors_are_the_same(want: list[Vectors], tmp_path: Path) -> None:
    twin = Hybrid(bge_m3(tmp_path / "twin", is_pickled=False))
    for row, one in zip(twin.isolated(TEXTS[:4], [ALL] * 4), want, strict=False):
        check(row, one, ALL)  # not the bits: where a tensor lies in memory decides the order of sums, with AVX2


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("a pickled call ran",)


@pytest.mark.parametrize(
    "content",
    [
        {"weight": torch.zeros(2, WIDTH), "bias": torch.zeros(2)},
        {"weight": torch.zeros(1, WIDTH)},
        {"weight": torch.zeros(1, WIDTH, dtype=torch.int64), "bias": torch.zeros(1, dtype=torch.int64)},
        [1, 2],
    ],
)
def test_a_head_of_another_form_stops_the_start(tmp_path: Path, content: object) -> None:
    folder = bge_m3(tmp_path / "checkpoint")
    torch.save(content, folder / "sparse_linear.pt")
    with pytest.raises(ModelError, match=r"sparse_linear\.pt has "):
        load(folder)


def test_a_head_with_code_in_it_stops_the_start_and_nothing_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = bge_m3(tmp_path / "checkpoint")
    for write in (
        lambda path: torch.save({"weight": Evil()}, path),
        lambda path: path.write_bytes(pickle.dumps(Evil())),
    ):
        write(folder / "colbert_linear.pt")
        with pytest.raises(ModelError, match=r"colbert_linear\.pt cannot be read as tensors"):
            load(folder)
    assert "a pickled call ran" not in capsys.readouterr().out
