"""Sparse weights are those of sentence-transformers' `SparseEncoder`; doc-only queries are weighed by a table."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SparseEncoder

from service.checkpoint.hub import find_checkpoint
from service.checkpoint.sparse_files import SpladePooling
from service.errors import ModelError
from service.ipc.messages import Request
from service.ipc.prompt_digest import prompt_digest
from service.model.heads import sparse as sparse_head
from service.model.heads.head import HeadRows
from service.model.heads.sparse import pool_logits, weigh
from service.model.linear.cpu_backend import packed_products
from service.model.linear.products import PackedModule
from service.outputs.plan import TokenPlan
from service.outputs.sparse import SPARSE, SparseAsk, unpack_sparse
from tests.conftest import TOLERANCE
from tests.models.served import Served
from tests.models.sparse.checkpoints import FAMILIES, QUERIES, inference_free, reference, splade
from tests.models.text.texts import TEXTS

HOWS = [(strategy, activation) for strategy in ("max", "sum") for activation in ("relu", "log1p_relu")]
TOKENS = tuple(text for text in TEXTS if text.strip())
"""A query of no tokens has no vector here."""
Make = Callable[..., Path]


def wanted(encoder: SparseEncoder, texts: Sequence[str]) -> np.ndarray:
    return encoder.encode(list(texts), convert_to_sparse_tensor=False).numpy()


def near(got: np.ndarray, want: np.ndarray) -> bool:
    """Equal weights, and equal entries where they are not next to nothing."""
    sure = np.abs(want) > 1e-6
    same = (np.array_equal(got > 1e-6, sure)) or np.abs(want[(got > 1e-6) != sure]).max() < 2e-6
    return bool(same and np.abs(got - want).max() <= TOLERANCE * max(1.0, float(want.max())))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Make:
    folders: dict[object, Path] = {}

    def made(name: str, *how: str, is_old: bool = False) -> Path:
        key = (name, how, is_old)
        if key not in folders:
            folders[key] = splade(name, tmp_path_factory.mktemp(name) / "splade", *how, is_old=is_old)
        return folders[key]

    return made


@pytest.fixture
def bert(made: Make) -> Served:
    return Served(made("bert", "max", "relu"))


def routed(folder: Path) -> Served:
    """A model of two sides, whose files are linked together first."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
        return Served(Path(find_checkpoint(str(folder), None).folder))


def prompts(served: Served, texts: Sequence[str], side: str | None = None) -> list[Any]:
    return served.text_prompts(texts, side, "right")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", FAMILIES)
def test_weights_are_the_references_alone_and_in_a_mixed_batch(made: Make, name: str, how: tuple[str, str]) -> None:
    served, want = Served(made(name, *how)), wanted(reference(made(name, *how)), TEXTS)
    assert 0.02 < (want > 0).mean() < 0.9
    asked = prompts(served, TEXTS)
    assert near(served.weights(asked), want)
    assert near(np.concatenate([served.weights([one]) for one in asked]), want)


def test_the_files_of_older_releases_are_read(made: Make) -> None:
    folder, texts = made("bert", "max", "relu", is_old=True), ["a red bicycle"]
    served = Served(folder)
    assert near(served.weights(prompts(served, texts)), wanted(reference(folder), texts))


@pytest.mark.parametrize("how", [SpladePooling(*one) for one in HOWS])
@pytest.mark.parametrize("num_at_once", [1, 5, 1 << 20])
def test_chunks_of_any_size_give_the_same_weights(how: SpladePooling, num_at_once: int) -> None:
    generator = torch.Generator().manual_seed(5)
    states, matrix = torch.randn(40, 8, generator=generator), torch.randn(8, 11, generator=generator)
    sizes: list[int] = []

    def logits(rows: torch.Tensor) -> torch.Tensor:
        sizes.append(len(rows))
        return rows @ matrix

    got = pool_logits(states, [0, 1, 4, 4 + 17, 40], logits, 11, how, num_at_once)
    assert max(sizes) == min(40, num_at_once)
    parts = torch.split(weigh(states @ matrix, how), [1, 3, 17, 19])
    want = torch.stack([part.amax(0) if how.strategy == "max" else part.sum(0) for part in parts])
    assert torch.allclose(got, want, atol=1e-6)


def test_logits_of_a_batch_are_never_there_together(bert: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_head, "CHUNK_BYTES", 7 * 4 * 400)
    sizes: list[int] = []
    before = bert.model.own.chunk

    def watched(states: torch.Tensor) -> torch.Tensor:
        sizes.append(len(states))
        found: torch.Tensor = before(states)
        return found

    monkeypatch.setattr(bert.model.own, "chunk", watched)
    bert.rows(prompts(bert, ["a red bicycle against a wall", "two green doors and a window " * 20]))
    assert max(sizes) <= 7
    assert len(sizes) > 10


@pytest.mark.parametrize("name", FAMILIES)
def test_no_layer_of_the_head_stays_with_torch_where_packed_products_are_faster(made: Make, name: str) -> None:
    model = Served(made(name, "max", "relu")).model
    if packed_products(model.backbone.device, model.backbone.dtype) is None:
        pytest.skip("not on this processor")
    whole = model.own._whole
    own = {id(one) for one in whole.base_model.modules()}
    head = [one for one in whole.modules() if id(one) not in own]
    assert not any(type(one) is torch.nn.Linear for one in head)
    assert sum(isinstance(one, PackedModule) for one in head) == 2


def test_a_kept_vector_is_the_fresh_one_bit_for_bit_and_small(bert: Served) -> None:
    waiting = bert.waiting(prompts(bert, ["a red bicycle", "ein grünes Tor"]))
    found, requests = bert.runner.embed(waiting), [one.request for one in waiting]
    kept = bert.runner.to_keep(found)
    again = bert.runner.finish(bert.runner.kept([one for one in kept if one is not None]), requests)
    assert again == bert.runner.finish(found, requests)
    assert all(one is not None and len(one) < 4 * bert.profile.dimensions * 2 for one in kept)


def test_a_weight_that_is_not_finite_fails_its_text_alone(bert: Served) -> None:
    requests = [one.request for one in bert.waiting(prompts(bert, ["one", "two", "none"]))]
    raw = torch.zeros(3, bert.profile.dimensions)
    raw[0, 5], raw[1, 7] = 2.0, float("inf")
    found = {"sparse": HeadRows(raw, [1] * 3)}
    first, failed, empty = bert.runner.finish(found, requests)
    assert failed is None
    assert first is not None
    assert [one.tolist() for one in unpack_sparse(first[SPARSE])] == [[5], [2.0]]
    assert empty == {SPARSE: b""}
    assert bert.runner.to_keep(found)[1] is None


def test_a_forward_that_is_off_is_found_at_start(bert: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    embed = bert.model.embed

    def turned(*batch: object) -> dict[str, HeadRows]:
        found = embed(*batch)["sparse"]
        return {"sparse": HeadRows(found.rows.roll(1, dims=-1), found.counts)}

    monkeypatch.setattr(bert.model, "embed", turned)
    with pytest.raises(ModelError, match="known-answer check"):
        bert.check()


@pytest.mark.parametrize("at_root", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_both_sides_are_the_references_alone_and_in_one_batch(tmp_path: Path, name: str, at_root: bool) -> None:
    prefixes = {"query": "find: ", "document": "text: "} if at_root else None
    folder = inference_free(name, tmp_path / "model", at_root=at_root, prompts=prefixes)
    model, encoder = routed(folder), reference(folder)
    queries, documents = (
        encode(list(TOKENS), convert_to_sparse_tensor=False).numpy()
        for encode in (encoder.encode_query, encoder.encode_document)
    )
    assert not np.allclose(queries, documents, atol=0.1)
    asked, found = (prompts(model, TOKENS, side) for side in ("query", "document"))
    assert near(model.weights(asked), queries)
    assert near(model.weights(found), documents)
    assert prompts(model, TOKENS) == found, "what does not say is a document"
    assert near(np.concatenate([model.weights([one]) for one in asked[:5]]), queries[:5])
    both = model.weights([one for pair in zip(asked, found, strict=True) for one in pair])
    assert near(both[::2], queries)
    assert near(both[1::2], documents)


def test_a_query_runs_no_forward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = routed(inference_free("bert", tmp_path / "model"))

    def fail(*_: Any) -> torch.Tensor:
        raise AssertionError("a forward")

    monkeypatch.setattr(model.model.backbone, "_part", fail)
    assert model.rows(prompts(model, ["a red bicycle"], "query"))
    with pytest.raises(AssertionError, match="a forward"):
        model.rows(prompts(model, ["a red bicycle"], "document"))


def test_a_query_is_another_prompt_than_a_document_of_its_tokens() -> None:
    ask = SparseAsk(dimensions=8)
    one, other = (
        Request(id=1, plan=TokenPlan([5, 6], uses_static_weights=told), asks=(ask,)) for told in (False, True)
    )
    assert prompt_digest(one) != prompt_digest(other)


def test_both_forms_are_one_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    saved, released = inference_free("bert", tmp_path / "a"), inference_free("bert", tmp_path / "b", at_root=True)
    one, other = find_checkpoint(str(saved), None), find_checkpoint(str(released), None)
    assert (one.name, Path(other.folder)) == ("a", released)
    assert find_checkpoint(str(saved), None) == one
    table, before = saved / QUERIES / "model.safetensors", one.fingerprint()
    save_file({"weight": torch.cat([load_file(table)["weight"], torch.ones(1)])}, table)
    assert find_checkpoint(str(saved), None).fingerprint() != before
