"""Models of images alone against transformers' own vectors."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from service.checkpoint.hub import find_checkpoint
from service.checkpoint.image_processor import processor_class, read_scaling
from service.checkpoint.json_files import CheckpointError
from service.errors import InputError, ModelError
from service.media.image.decode import load_pixels
from service.model.two_tower.two_tower import image_inputs
from service.prompt.detect import load_profile
from service.prompt.token_array import TokenArray, build_token_array
from service.prompt.truncation import Truncation
from tests.conftest import TOLERANCE
from tests.models.images.checkpoints import RECIPES, make_checkpoint
from tests.models.images.reference import Reference
from tests.models.served import Served
from tests.models.two_tower.images import IMAGES
from tests.models.weights import change_json

SHAPES = {name: image for name, image in IMAGES.items() if name not in ("gray with alpha", "palette", "cmyk")}
"""Those that transformers and the formula make RGB alike."""


class Images(Served):
    """A model of images and its reference."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Path(find_checkpoint(str(folder), None).folder))
        self.reference = Reference(folder)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Images]:
    return cache(lambda name: Images(make_checkpoint(name, tmp_path_factory.mktemp("images") / "checkpoint")))


@pytest.fixture(params=sorted(RECIPES))
def images(request: pytest.FixtureRequest, served: Callable[[str], Images]) -> Images:
    return served(request.param)


def test_images_of_all_shapes_have_the_references_vectors_together_and_alone(images: Images) -> None:
    theirs = images.reference.images(list(SHAPES.values()))
    prompts = [images.prompt(encoded) for encoded in SHAPES.values()]
    ours = images.vectors(prompts)
    assert np.abs(ours - theirs).max() <= TOLERANCE
    assert np.abs(np.concatenate([images.vectors([one]) for one in prompts[::3]]) - ours[::3]).max() <= TOLERANCE
    assert np.abs(theirs - theirs[0])[1:].max(axis=1).min() > 100 * TOLERANCE


@pytest.mark.parametrize("shape", SHAPES)
def test_pixels_are_those_of_the_reference(images: Images, shape: str) -> None:
    item, kind = images.item(SHAPES[shape]), processor_class(images.folder)
    ours, side = torch.from_numpy(load_pixels(item).copy()), images.model.backbone.patch_size
    is_float = kind.startswith("DINOv3")
    if is_float:
        ours = ours.reshape(side, -1).view(torch.float32).view(side, side, 3)
    found = image_inputs(ours, read_scaling(images.folder, kind), torch.device("cpu"), None)["pixel_values"]
    theirs = images.reference.pixels(SHAPES[shape])
    assert torch.allclose(found, theirs, rtol=0, atol=TOLERANCE) if is_float else torch.equal(found, theirs)


def test_a_text_is_refused_by_name(images: Images) -> None:
    beside = (images.item(SHAPES["wide"]), "a cat")
    for parts in (("a cat",), ("",), beside):
        with pytest.raises(InputError, match="got a text; this model takes images only") as refused:
            images.prompt(*parts)
        assert refused.value.code == "unsupported_modality"
    with pytest.raises(InputError, match="2 images"):
        images.prompt(SHAPES["wide"], SHAPES["tall"])
    with pytest.raises(InputError, match="system message"):
        images.prompt(SHAPES["wide"], instruction="Find it.")
    with pytest.raises(InputError, match="images only"):
        build_token_array(TokenArray([0]), Truncation(1), images.profile, 1, param="input", index=0)


def test_the_check_at_start_sees_other_pixels(served: Callable[[str], Images], monkeypatch: pytest.MonkeyPatch) -> None:
    images = served("dinov3")
    monkeypatch.setattr(
        images.model.backbone, "_scaling", read_scaling(served("siglip").folder, "SiglipImageProcessor")
    )
    with pytest.raises(ModelError, match="known-answer"):
        images.check()


Edit = dict[str, Any]


@pytest.mark.parametrize(
    ("name", "config", "processor", "says"),
    [
        ("dinov2", {"architectures": ["Dinov2ForImageClassification"]}, {}, "Dinov2ForImageClassification"),
        ("dinov2", {"architectures": ["Dinov2Backbone"]}, {}, "supported: Dinov2Model"),
        ("siglip", {"vision_use_head": False}, {}, "vision_use_head False"),
        ("siglip", {}, {"size": {"height": 48, "width": 48}}, "images of 48 pixels"),
        ("dinov2", {}, {"do_center_crop": False}, "no crop"),
        ("dinov2", {}, {"do_pad": True}, "do_pad true"),
        ("dinov2", {}, {"crop_size": {"height": 32, "width": 40}}, "crop_size"),
        ("dinov2", {}, {"do_rescale": False}, "do_rescale"),
        ("dinov2", {}, {"image_processor_type": "ViTImageProcessor"}, "'ViTImageProcessor'; supported"),
        ("dinov3", {}, {"do_center_crop": True, "crop_size": 32}, "do_center_crop True"),
        ("dinov3", {}, {"resample": 1}, "resample 1"),
        (
            "dinov2",
            {"model_type": "radio", "auto_map": {"AutoModel": "hf_model.RADIOModel"}},
            {},
            "'radio', not supp.*code of",
        ),
        ("dinov3", {"model_type": "dinov3_convnext"}, {}, "'dinov3_convnext', not supported"),
    ],
)
def test_what_is_not_obeyed_is_refused_by_name(
    name: str, config: Edit, processor: Edit, says: str, tmp_path: Path
) -> None:
    folder = make_checkpoint(name, tmp_path / "folder")
    change_json(folder / "config.json", **config)
    change_json(folder / "preprocessor_config.json", **processor)
    with pytest.raises(CheckpointError, match=f"(?s){says}"):
        load_profile(folder)


def test_a_folder_without_an_image_processor_says_so(tmp_path: Path) -> None:
    folder = make_checkpoint("dinov2", tmp_path / "folder")
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(CheckpointError, match=r"preprocessor_config\.json"):
        load_profile(folder)
