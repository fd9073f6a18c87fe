"""Each two-tower family against transformers' own `get_*_features` on its own processors' inputs."""

import io
from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image

from service.checkpoint.image_processor import Scaling, read_scaling
from service.engine.startup.self_check import check_forward, known_answers
from service.errors import InputError, ModelError
from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.item import ImageReadOptions
from service.model.architectures import load_model
from service.model.two_tower.two_tower import TwoTower, image_inputs
from tests.conftest import TOLERANCE
from tests.models.served import check_special_texts
from tests.models.two_tower.captions import CAPTIONS, LONG
from tests.models.two_tower.checkpoints import RECIPES
from tests.models.two_tower.conftest import Towers
from tests.models.two_tower.images import IMAGES

FAMILIES = sorted(RECIPES)


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest, two_towers: Callable[[str], Towers]) -> Towers:
    return two_towers(request.param)


def test_texts_of_all_lengths_have_the_references_vectors(family: Towers) -> None:
    ours, theirs = family.texts(CAPTIONS), family.reference.texts(CAPTIONS)
    assert np.abs(ours - theirs).max() <= TOLERANCE
    assert np.abs(theirs - theirs[0])[2:].max(axis=1).min() > 100 * TOLERANCE  # and they differ from each other


@pytest.mark.parametrize("name", IMAGES)
def test_pixels_are_those_of_transformers_bit_for_bit(family: Towers, name: str) -> None:
    assert family.profile.images is not None
    rule, options = family.profile.images.pixel_rule, ImageReadOptions(family.profile.images.background)
    item = open_image(IMAGES[name], DecodeLimits(), rule, options=options)
    scaling = read_scaling(family.folder, family.reference.model.config.model_type)
    is_naflex = "naflex" in family.profile.name
    ours = image_inputs(
        torch.from_numpy(load_pixels(item).copy()),
        scaling,
        torch.device("cpu"),
        rule.patches.patch_size if is_naflex else None,
    )
    theirs = family.reference.processor([Image.open(io.BytesIO(IMAGES[name]))], return_tensors="pt")
    values = theirs["pixel_values"][:, : ours["pixel_values"].shape[1]]
    assert torch.equal(ours["pixel_values"], values)
    if is_naflex:
        assert ours["spatial_shapes"].tolist() == theirs["spatial_shapes"].tolist()
        assert int(theirs["pixel_attention_mask"].sum()) == ours["pixel_values"].shape[1]


def test_images_of_odd_shapes_have_the_references_vectors(family: Towers) -> None:
    theirs = family.reference.images(list(IMAGES.values()))
    ours = family.vectors([family.prompt(encoded) for encoded in IMAGES.values()])
    assert np.abs(ours - theirs).max() <= TOLERANCE
    assert np.abs(theirs - theirs[0])[1:].max(axis=1).min() > 100 * TOLERANCE


def test_texts_and_images_of_one_batch_do_not_touch_each_other(family: Towers) -> None:
    texts = [family.prompt(text) for text in CAPTIONS[:5]]
    images = [family.prompt(IMAGES[name]) for name in ("wide", "tall", "rgba")]
    mixed = [texts[0], images[0], images[1], *texts[1:4], images[2], texts[4]]
    ours = family.vectors(mixed)
    apart = np.concatenate([family.vectors([prompt]) for prompt in mixed])
    assert np.abs(ours - apart).max() <= TOLERANCE


def test_an_image_is_one_placeholder_and_nothing_else(family: Towers) -> None:
    prompt = family.prompt(IMAGES["wide"])
    assert family.profile.images is not None
    assert prompt.plan.ids == [family.profile.images.image_pad]
    assert family.profile.images.image_pad >= family.tokenizer.num_ids


def test_an_empty_text_has_the_references_vector(family: Towers) -> None:
    assert np.abs(family.texts([""]) - family.reference.texts([""])).max() <= TOLERANCE


def test_a_long_text_is_refused_or_cut_where_the_reference_cuts_it(family: Towers) -> None:
    with pytest.raises(InputError, match=f"maximum context length is {family.profile.max_tokens} tokens"):
        family.prompt(LONG)
    prompt = family.prompt(LONG, side="right")
    assert prompt.truncated
    assert prompt.plan.ids[-1] == family.tokenizer.tail_token_ids[-1]
    assert np.abs(family.vectors([prompt]) - family.reference.texts([LONG])).max() <= TOLERANCE


def test_the_check_at_start_passes_in_half_precision(family: Towers) -> None:
    half = load_model("two_tower", family.folder, torch.device("cpu"), torch.bfloat16, family.profile.pooling)
    check_forward(half, known_answers(half))
    side = half.backbone.patch_size
    assert half.backbone.encode(torch.zeros(side, side, 3, dtype=torch.uint8)).dtype == torch.bfloat16


def test_a_check_that_the_forward_fails_stops_the_start(two_towers: Callable[[str], Towers]) -> None:
    folder = two_towers("clip").folder
    model = load_model("two_tower", folder, torch.device("cpu"), torch.float32, "last_token")
    assert isinstance(model.backbone, TwoTower)
    model.backbone._scaling = Scaling(1 / 255, (0.0, 0.0, 0.0), (0.1, 1.0, 1.0))
    with pytest.raises(ModelError, match="known-answer check"):
        check_forward(model, known_answers(model))


def test_no_text_becomes_a_special_token(family: Towers) -> None:
    assert set(family.tokenizer.tail_token_ids) <= set(family.profile.protected)
    check_special_texts(family.tokenizer, family.profile)
