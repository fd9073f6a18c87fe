"""OpenSearch's doc-only form: queries by the table, documents by SPLADE, as sentence-transformers gives them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from service.checkpoint.errors import CheckpointError
from service.checkpoint.hub import find_checkpoint
from service.ipc.messages import Request
from service.ipc.prompt_digest import prompt_digest
from service.model.stock.routed_splade import RoutedSplade
from service.outputs.plan import TokenPlan
from service.outputs.sparse import SparseAsk
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.sparse.checkpoints import DOCUMENT, FAMILIES, inference_free, reference
from tests.models.sparse.served import Sparse
from tests.models.text.texts import TEXTS

QUERIES = "query_0_SparseStaticEmbedding"
TOKENS = tuple(text for text in TEXTS if text.strip())
"""A query of no tokens has no vector here."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links are kept there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def served(folder: Path) -> Sparse:
    return Sparse(Path(find_checkpoint(str(folder), None).folder))


def near(got: np.ndarray, want: np.ndarray) -> bool:
    """Equal weights, and equal entries where they are not next to nothing."""
    sure = np.abs(want) > 1e-6
    same = (np.array_equal(got > 1e-6, sure)) or np.abs(want[(got > 1e-6) != sure]).max() < 2e-6
    return bool(same and np.abs(got - want).max() <= TOLERANCE)


@pytest.mark.parametrize("at_root", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_both_sides_are_the_references_alone_and_in_one_batch(tmp_path: Path, name: str, at_root: bool) -> None:
    prompts = {"query": "find: ", "document": "text: "} if at_root else None
    folder = inference_free(name, tmp_path / "model", at_root=at_root, prompts=prompts)
    model, encoder = served(folder), reference(folder)
    queries, documents = (
        encode(list(TOKENS), convert_to_sparse_tensor=False).numpy()
        for encode in (encoder.encode_query, encoder.encode_document)
    )
    assert not np.allclose(queries, documents, atol=0.1)
    assert near(model.dense(TOKENS, "query"), queries)
    assert near(model.dense(TOKENS, "document"), documents)
    assert near(model.dense(TOKENS), documents), "what does not say is a document"
    assert near(np.concatenate([model.dense([text], "query") for text in TOKENS[:5]]), queries[:5])
    mixed = [one for pair in zip(model.asked(TOKENS, "query"), model.asked(TOKENS), strict=True) for one in pair]
    both = model.filled(model.finished(mixed))
    assert near(both[::2], queries)
    assert near(both[1::2], documents)


def test_a_query_runs_no_forward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = served(inference_free("bert", tmp_path / "model"))
    assert isinstance(model.model, RoutedSplade)
    asked = model.asked(["a red bicycle"], "query")

    def fail(*_: Any) -> torch.Tensor:
        raise AssertionError("a forward")

    monkeypatch.setattr(model.model, "_part", fail)
    assert model.finished(asked)
    with pytest.raises(AssertionError, match="a forward"):
        model.rows(["a red bicycle"], "document")


def test_a_query_is_another_prompt_than_a_document_of_its_tokens() -> None:
    ask = SparseAsk(dimensions=8)
    one, other = (
        Request(id=1, plan=TokenPlan([5, 6], uses_static_weights=told), asks=(ask,)) for told in (False, True)
    )
    assert prompt_digest(one) != prompt_digest(other)


def test_both_forms_are_one_model(tmp_path: Path) -> None:
    saved, released = inference_free("bert", tmp_path / "a"), inference_free("bert", tmp_path / "b", at_root=True)
    one, other = find_checkpoint(str(saved), None), find_checkpoint(str(released), None)
    assert (one.name, Path(other.folder)) == ("a", released)
    assert find_checkpoint(str(saved), None) == one
    table = saved / QUERIES / "model.safetensors"
    before = one.fingerprint()
    save_file({"weight": torch.cat([load_file(table)["weight"], torch.ones(1)])}, table)
    assert find_checkpoint(str(saved), None).fingerprint() != before


def edit(*changes: tuple[str, Callable[[Any], None]]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for name, apply in changes:
            value = json.loads((folder / name).read_text())
            apply(value)
            (folder / name).write_text(json.dumps(value))

    return change


def no_table(folder: Path) -> None:
    (folder / QUERIES / "model.safetensors").unlink()


def longer_table(folder: Path) -> None:
    save_file({"weight": torch.ones(7)}, folder / QUERIES / "model.safetensors")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (no_table, "has no model.safetensors"),
        (longer_table, r"has weight of shape \[7\]; the vocabulary has"),
        (
            edit((f"{QUERIES}/tokenizer.json", lambda one: one.update(normalizer=None))),
            "another normalizer than .*one tokenizer for queries and documents",
        ),
        (
            edit(("router_config.json", lambda one: one["structure"].pop("query"))),
            "has the routes document of Transformer, SpladePooling; supported: the routes query",
        ),
        (
            edit(("router_config.json", lambda one: one["structure"]["query"].append("document_1_SpladePooling"))),
            "query of SparseStaticEmbedding, SpladePooling",
        ),
        (
            edit(("router_config.json", lambda one: one["parameters"].update(route_mappings={"(None, 'text')": "x"}))),
            "has route_mappings",
        ),
        (
            edit(("router_config.json", lambda one: one["types"].update({DOCUMENT: "another.Transformer"}))),
            "document of another.Transformer",
        ),
    ],
)
def test_what_is_not_supported_stops_the_start(tmp_path: Path, change: Callable[[Path], None], said: str) -> None:
    folder = inference_free("bert", tmp_path / "model")
    change(folder)
    with pytest.raises(CheckpointError, match=said):
        load_profile(Path(find_checkpoint(str(folder), None).folder))


def test_a_module_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder, outside = inference_free("bert", tmp_path / "model"), "../outside"
    edit(
        ("router_config.json", lambda one: one["types"].update({outside: one["types"][QUERIES]})),
        ("router_config.json", lambda one: one["structure"].update(query=[outside])),
    )(folder)
    with pytest.raises(CheckpointError, match="not a folder below it"):
        find_checkpoint(str(folder), None)
