"""What the files of ColQwen2.5 in colpali-engine's form say, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from service.checkpoint.errors import CheckpointError, UnsupportedModelError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.late_interaction.checkpoints import colqwen2_5 as in_transformers_form
from tests.models.late_interaction.reference import EngineReference
from tests.models.late_pages.engine_checkpoints import colqwen2_5
from tests.models.late_pages.served_vectors import ServedVectors, difference

Change = Callable[[dict[str, torch.Tensor]], object]


def changed(folder: Path, change: Change) -> Path:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, {"format": "pt"})
    return folder


def test_files_may_say_what_stands_around_a_query(tmp_path: Path) -> None:
    own = {"query_prefix": "", "query_end_tokens": 3}
    folder = colqwen2_5(tmp_path / "colqwen2.5", cenote=own)
    reference = EngineReference(folder)
    reference.query_prefix, reference.suffix = "", "<|endoftext|>" * 3
    assert difference(ServedVectors(folder)(["a question"]), reference.queries(["a question"])) <= TOLERANCE


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"query_prefix": 3}, "query_prefix 3"),
        ({"query_end_tokens": 0}, "query_end_tokens 0"),
        (["a"], "object is needed"),
    ],
)
def test_what_is_no_text_or_number_is_refused(tmp_path: Path, own: object, said: str) -> None:
    folder = colqwen2_5(tmp_path / "colqwen2.5", cenote=own)
    with pytest.raises(UnsupportedModelError, match=said):
        load_profile(folder)


def test_a_projection_without_a_bias_is_refused(tmp_path: Path) -> None:
    folder = changed(colqwen2_5(tmp_path / "a"), lambda tensors: tensors.pop("custom_text_proj.bias"))
    with pytest.raises(CheckpointError, match=r"custom_text_proj\.weight without custom_text_proj\.bias"):
        load_profile(folder)


def test_a_projection_of_another_width_is_refused(tmp_path: Path) -> None:
    weight = torch.ones(128, 32)
    folder = changed(colqwen2_5(tmp_path / "a"), lambda tensors: tensors.update({"custom_text_proj.weight": weight}))
    with pytest.raises(UnsupportedModelError, match=r"no linear layer custom_text_proj over the decoder's 64 numbers"):
        load_profile(folder)


def test_without_the_projection_it_is_no_late_interaction(tmp_path: Path) -> None:
    def drop(tensors: dict[str, torch.Tensor]) -> None:
        for name in ("weight", "bias"):
            del tensors[f"custom_text_proj.{name}"]

    folder = changed(colqwen2_5(tmp_path / "plain", architectures=["Qwen2_5_VLModel"]), drop)
    with pytest.raises(UnsupportedModelError, match="--family"):
        load_profile(folder)
    with pytest.raises(UnsupportedModelError, match="no linear layer custom_text_proj"):
        load_profile(folder, "colqwen2_5")


def test_another_projections_size_is_the_vectors(tmp_path: Path) -> None:
    shorter = {"custom_text_proj.weight": torch.ones(96, 64), "custom_text_proj.bias": torch.ones(96)}
    profile = load_profile(changed(colqwen2_5(tmp_path / "a"), lambda tensors: tensors.update(shorter)))
    assert (profile.dimensions, profile.outputs) == (96, ("multi",))


def test_another_backbone_in_transformers_form_is_refused(tmp_path: Path) -> None:
    folder = in_transformers_form(tmp_path / "a", vlm_config={"model_type": "qwen2_audio"})
    with pytest.raises(UnsupportedModelError, match="vlm_config of 'qwen2_audio'; supported: 'qwen2_vl' and"):
        load_profile(folder)
