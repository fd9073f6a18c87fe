"""SPLADE gives the weights of sentence-transformers' `SparseEncoder` on random checkpoints of every family."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SparseEncoder

from service.checkpoint.errors import CheckpointError, UnsupportedModelError
from service.checkpoint.sparse.splade_files import SpladePooling
from service.engine.startup.self_check import check_forward, known_answers
from service.errors import ModelError
from service.model.architectures import load_model
from service.model.linear.products import PackedModule, packed_products
from service.model.stock import splade as splade_module
from service.model.stock.splade import Splade, pool_logits, weigh
from service.outputs.sparse import SPARSE, unpack_sparse
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.sparse.checkpoints import FAMILIES, reference, splade
from tests.models.sparse.served import Sparse
from tests.models.text.texts import TEXTS

HOWS = [(strategy, activation) for strategy in ("max", "sum") for activation in ("relu", "log1p_relu")]


def wanted(encoder: SparseEncoder, texts: Sequence[str]) -> np.ndarray:
    return encoder.encode(list(texts), convert_to_sparse_tensor=False).numpy()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folders: dict[object, Path] = {}

    def made(name: str, *how: str, is_old: bool = False) -> Path:
        key = (name, how, is_old)
        if key not in folders:
            folders[key] = splade(name, tmp_path_factory.mktemp(name) / "splade", *how, is_old=is_old)
        return folders[key]

    return made


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", FAMILIES)
def test_weights_are_the_references_alone_and_in_a_mixed_batch(
    made: Callable[..., Path], name: str, how: tuple[str, str]
) -> None:
    folder = made(name, *how)
    served, encoder = Sparse(folder), reference(folder)
    want = wanted(encoder, TEXTS)
    assert 0.02 < (want > 0).mean() < 0.9
    mixed = served.dense(TEXTS)
    assert np.abs(mixed - want).max() <= TOLERANCE * max(1.0, float(want.max()))
    alone = np.concatenate([served.dense([text]) for text in TEXTS])
    assert np.abs(alone - want).max() <= TOLERANCE * max(1.0, float(want.max()))
    sure = np.abs(want) > 1e-6
    assert np.array_equal(mixed > 1e-6, sure) or np.abs(want[(mixed > 1e-6) != sure]).max() < 2e-6


def test_the_files_of_older_releases_are_read(made: Callable[..., Path]) -> None:
    folder = made("bert", "max", "relu", is_old=True)
    assert np.abs(Sparse(folder).dense(["a red bicycle"]) - wanted(reference(folder), ["a red bicycle"])).max() < 1e-5


@pytest.mark.parametrize("how", [SpladePooling(*one) for one in HOWS])
@pytest.mark.parametrize("num_at_once", [1, 5, 1 << 20])
def test_chunks_of_any_size_give_the_same_weights(how: SpladePooling, num_at_once: int) -> None:
    generator = torch.Generator().manual_seed(5)
    states, matrix = torch.randn(40, 8, generator=generator), torch.randn(8, 11, generator=generator)
    bounds, most = [0, 1, 4, 4 + 17, 40], 0

    def logits(rows: torch.Tensor) -> torch.Tensor:
        nonlocal most
        most = max(most, len(rows))
        return rows @ matrix

    got = pool_logits(states, bounds, logits, 11, how, num_at_once)
    assert most == min(40, num_at_once)
    weights = weigh(states @ matrix, how)
    parts = torch.split(weights, [1, 3, 17, 19])
    want = torch.stack([part.amax(0) if how.strategy == "max" else part.sum(0) for part in parts])
    assert torch.allclose(got, want, atol=1e-6)


def test_logits_of_a_batch_are_never_there_together(made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splade_module, "CHUNK_BYTES", 7 * 4 * 400)
    served = Sparse(made("bert", "max", "relu"))
    assert isinstance(served.model, Splade)
    sizes: list[int] = []
    before = served.model._head

    def watched(states: torch.Tensor) -> torch.Tensor:
        sizes.append(len(states))
        return before(states)

    watched.hidden_size = before.hidden_size  # type: ignore[attr-defined]
    monkeypatch.setattr(served.model, "_head", watched)
    served.rows(["a red bicycle against a wall", "two green doors and a window " * 20])
    assert max(sizes) <= 7
    assert len(sizes) > 10


@pytest.mark.parametrize("name", FAMILIES)
def test_no_layer_of_the_head_stays_with_torch_where_packed_products_are_faster(
    made: Callable[..., Path], name: str
) -> None:
    model = Sparse(made(name, "max", "relu")).model
    assert isinstance(model, Splade)
    if packed_products(model.device, model.dtype) is None:
        pytest.skip("not on this processor")
    own = {id(one) for one in model.whole.base_model.modules()}
    head = [one for one in model.whole.modules() if id(one) not in own]
    assert not any(type(one) is torch.nn.Linear for one in head)
    assert sum(isinstance(one, PackedModule) for one in head) == 2


def test_a_kept_vector_is_the_fresh_one_bit_for_bit_and_small(made: Callable[..., Path]) -> None:
    served = Sparse(made("bert", "max", "relu"))
    waiting = served.asked(["a red bicycle", "ein grünes Tor"])
    raw, requests = served.runner.embed(waiting), [one.request for one in waiting]
    kept = served.runner.to_keep(raw, requests)
    again = served.runner.finish(served.runner.kept([one for one in kept if one is not None]), requests)
    assert again == served.runner.finish(raw, requests)
    assert all(one is not None and len(one) < 4 * served.profile.dimensions * 2 for one in kept)


def test_a_weight_that_is_not_finite_fails_its_text_alone(made: Callable[..., Path]) -> None:
    served = Sparse(made("bert", "max", "relu"))
    requests = [one.request for one in served.asked(["one", "two", "none"])]
    raw = torch.zeros(3, served.profile.dimensions)
    raw[0, 5], raw[1, 7] = 2.0, float("inf")
    first, failed, empty = served.runner.finish(raw, requests)
    assert failed is None
    assert first is not None
    assert [one.tolist() for one in unpack_sparse(first[SPARSE])] == [[5], [2.0]]
    assert empty == {SPARSE: b""}
    assert served.runner.to_keep(raw, requests)[1] is None


def test_a_forward_that_is_off_is_found_at_start(made: Callable[..., Path]) -> None:
    folder = made("bert", "max", "relu")
    model = load_model("splade", folder, torch.device("cpu"), torch.float32, "cls")
    answers = known_answers(model)
    with torch.no_grad():
        model.whole.cls.predictions.transform.dense.bias.add_(1.0)  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match="known-answer check"):
        check_forward(model, answers)


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("1_SpladePooling/config.json", {"pooling_strategy": "mean"}, "pooling_strategy 'mean'; supported: max, sum"),
        ("1_SpladePooling/config.json", {"activation_function": "gelu"}, "activation_function 'gelu'"),
        ("sentence_bert_config.json", {"transformer_task": "feature-extraction"}, "transformer_task"),
        ("config_sentence_transformers.json", {"model_type": "MultiVectorEncoder"}, "MultiVectorEncoder"),
    ],
)
def test_files_that_ask_for_something_else_stop_the_start(
    tmp_path: Path, file: str, change: dict[str, str], said: str
) -> None:
    folder = splade("bert", tmp_path / "splade")
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises((CheckpointError, UnsupportedModelError), match=said):
        load_profile(folder)


@pytest.mark.parametrize(
    ("place", "change", "said"),
    [
        (0, {"path": "0_Transformer"}, "Transformer in a folder of its own"),
        (1, {"path": "../1_SpladePooling"}, "not a folder below it"),
        (1, {"type": "another.SpladePooling"}, "'another.SpladePooling'"),
        (0, {"type": "sentence_transformers.sparse_encoder.modules.SparseAutoEncoder"}, "SparseAutoEncoder, Splade"),
    ],
)
def test_modules_in_other_places_or_of_other_kinds_stop_the_start(
    tmp_path: Path, place: int, change: dict[str, str], said: str
) -> None:
    folder = splade("bert", tmp_path / "splade")
    modules = json.loads((folder / "modules.json").read_text())
    modules[place] |= change
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(CheckpointError, match=rf"modules\.json has .*{said}"):
        load_profile(folder)


def test_a_third_module_stops_the_start(tmp_path: Path) -> None:
    folder = splade("bert", tmp_path / "splade")
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"path": "2_Normalize", "type": "sentence_transformers.base.modules.normalize.Normalize"})
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(CheckpointError, match=r"modules\.json has .*Normalize; supported with SpladePooling"):
        load_profile(folder)
