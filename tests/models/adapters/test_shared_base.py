"""Adapters that share the weights of their base: the vectors of each are those of its merged model."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoModel, AutoModelForMaskedLM, T5EncoderModel

from service.checkpoint.hub import find_checkpoint
from service.checkpoint.lora.group import GROUPED, group_folder, shares_base
from service.engine.execution.runner import ModelRunner
from service.engine.startup.self_check import check_forward, known_answers
from service.engine.startup.weight_formats import prepack
from service.errors import ModelError
from service.model.adapted import adapted_layers, check_called
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.adapters.test_adapters import Base, trained
from tests.models.adapters.test_tasks import V4_TASKS, V5_TASKS, v4, v5
from tests.models.folders.bases import made
from tests.models.served import Served, difference, load
from tests.models.text.checkpoints import RECIPES
from tests.models.text.texts import TEXTS
from tests.models.weights import change_json

SOME = list(TEXTS[:16])
OTHERS: dict[str, tuple[str | None, Any]] = {
    "qwen2_vl": ("gme_qwen2_vl", AutoModel),
    "splade": (None, AutoModelForMaskedLM),
    "pylate": (None, AutoModel),
    "builtin": (None, AutoModel),
}
"""Bases of other kinds, with their families and what peft trains them by."""


def two(base: Path, folder: Path, kind: Any, **keys: Any) -> list[Path]:
    """The joined folders of two adapters of a base."""
    made = [trained(base, folder / str(seed), kind, seed=seed, **keys)[0] for seed in (3, 4)]
    return [find_checkpoint(str(one), None).folder for one in made]


class Shared:
    """A group, loaded and checked as an engine does it."""

    def __init__(self, folders: Sequence[Path], family: str | None) -> None:
        profile = load_profile(folders[0], family)
        keys = {shares_base(one, profile.architecture) for one in folders}
        assert len(keys) == 1
        assert None not in keys
        self.model: Any = load(group_folder(folders), family)
        answers = [known_answers(self.model, place) for place in range(len(folders))]
        check_called(self.model.backbone.adapted)
        for form in ("as it is", "packed"):
            if form == "packed":
                prepack(self.model, with_decoder=True)
            for place, own in enumerate(answers):
                check_forward(self.model, own, place)

    def runs(self, alone: Served, place: int) -> None:
        """Let one that was loaded alone, and merged, run here from now on."""
        alone.runner = ModelRunner(self.model, alone._arena, place=place)


def numbers(served: Served) -> list[np.ndarray]:
    prompts = served.text_prompts(SOME)
    if "image" in served.profile.modalities:
        image = Image.linear_gradient("L").resize((96, 64)).convert("RGB")
        prompts = [*prompts[:6], served.prompt(image)]
    return [np.asarray(one) for one in ([served.weights(prompts)] if served.is_sparse else served.numbers(prompts))]


def check_shared(folders: Sequence[Path], family: str | None) -> None:
    """Fail if one has other vectors in a group than alone, merged; or the same as another."""
    alone = [Served(one, family) for one in folders]
    wanted = [numbers(one) for one in alone]
    assert difference(wanted[0], wanted[-1]) > 100 * TOLERANCE
    shared = Shared(folders, family)
    for place in (*range(len(folders)), 0):
        shared.runs(alone[place], place)
        alone[place]._features.clear()
        assert difference(numbers(alone[place]), wanted[place]) <= TOLERANCE


def made_v4(place: Path) -> Path:
    folder = place / "jina-embeddings-v4"
    v4(folder)
    return folder


@pytest.mark.parametrize("name", [*sorted(RECIPES), *OTHERS])
def test_adapters_of_one_base_have_the_vectors_of_their_merged_models(name: str, base: Base, tmp_path: Path) -> None:
    family, kind = OTHERS.get(name, (None, T5EncoderModel if name == "t5" else AutoModel))
    folders = two(base(name) if name in RECIPES else made(name, tmp_path), tmp_path, kind)
    if name in RECIPES:
        folders.insert(1, base(name))  # it may be served itself
    check_shared(folders, family)


@pytest.mark.parametrize(("make", "tasks"), [(lambda place: v5("qwen3", place)[0], V5_TASKS), (made_v4, V4_TASKS)])
def test_tasks_of_one_checkpoint_share_its_weights(
    make: Callable[[Path], Path], tasks: Sequence[str], tmp_path: Path
) -> None:
    folder = make(tmp_path)
    check_shared([find_checkpoint(f"{folder}/adapters/{task}", None).folder for task in tasks], None)


def test_what_an_engine_would_read_otherwise_is_not_shared(base: Base, tmp_path: Path) -> None:
    qwen3 = base("qwen3")

    def key(place: Path, architecture: str = "text_encoder") -> object:
        return shares_base(find_checkpoint(str(place), None).folder, architecture)

    plain, _ = trained(qwen3, tmp_path / "plain")
    assert key(plain) == key(qwen3)
    assert key(plain, "late_vlm") is None
    assert key(plain, "text_encoder:Qwen3Model") != key(qwen3)
    for name, keys in (("DoRA", {"use_dora": True}), ("whole", {"modules_to_save": ["norm"]})):
        keys["target_modules"] = ["q_proj"]
        assert key(trained(qwen3, tmp_path / name, **keys)[0]) is None
    copy = shutil.copytree(qwen3, tmp_path / "copy")
    assert key(copy) != key(qwen3)  # other files, which may be the same today
    names = plain / "config_sentence_transformers.json"
    shutil.copy(qwen3 / "modules.json", plain)
    shutil.copytree(qwen3 / "1_Pooling", plain / "1_Pooling")
    shutil.copy(qwen3 / names.name, plain)
    change_json(names, prompts={"query": "Ask: "})
    for one in (qwen3 / "2_Normalize", *qwen3.glob("sentence_*_config.json")):
        (shutil.copytree if one.is_dir() else shutil.copy)(one, plain / one.name)
    assert key(plain) == key(qwen3)  # prompts are a front's
    change_json(names, truncate_dim=16)
    assert key(plain) != key(qwen3)


def test_a_layer_that_its_model_does_not_call_ends_the_start(base: Base, tmp_path: Path) -> None:
    folder = group_folder(two(base("qwen3"), tmp_path, AutoModel))
    assert {path.name for path in folder.glob(f"{GROUPED}*")} == {"adapter_0", "adapter_1"}
    layers = adapted_layers(load(folder).backbone.stock)
    assert {tuple(sorted(one.factors)) for one in layers.values()} == {(0, 1)}
    with pytest.raises(ModelError, match=r"change layers\.0\.\S+, which its model does not call"):
        check_called(layers)


@pytest.mark.parametrize("dtype", [torch.bfloat16])
def test_factors_have_the_number_format_of_the_weights(dtype: torch.dtype, base: Base, tmp_path: Path) -> None:
    from service.model.architectures import load_model

    folder = group_folder(two(base("qwen3"), tmp_path, AutoModel))
    profile = load_profile(folder, None)
    model = load_model(profile.architecture, folder, torch.device("cpu"), dtype, profile.pooling)
    answers = [known_answers(model, place) for place in (0, 1)]
    prepack(model, with_decoder=True)
    for place, own in enumerate(answers):
        check_forward(model, own, place)
