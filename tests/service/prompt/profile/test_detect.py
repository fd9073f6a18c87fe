"""A checkpoint's files give a profile, or a sentence that stops the start."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile

Variant = Callable[..., Path]


def test_the_oracles_checkpoint_gives_the_reference_profile(checkpoint: Path) -> None:
    profile = load_profile(checkpoint)
    assert (profile.dimensions, profile.min_dimensions, profile.matryoshka) == (128, 64, ())
    assert profile.images.feature_width == 3 * 128
    assert (profile.pooling, profile.normalize, profile.max_tokens) == ("last_token", True, 8192)
    assert profile.modalities == ("text", "image", "video")
    assert profile.images.image_pad == 8134
    assert profile.expected_tail == 8128
    assert [profile.offers(d) for d in (63, 64, 100, 128, 129)] == [False, True, True, True, False]


def test_input_types_are_coheres_names(checkpoint: Path) -> None:
    profile = load_profile(checkpoint)
    assert profile.default_instruction == "Represent the user's input."
    assert dict(profile.input_types) == {
        "search_query": "Retrieve images or text relevant to the user's query.",
        "search_document": "Represent the user's input.",
        "classification": "Represent the user's input.",
        "clustering": "Represent the user's input.",
        "image": "Represent the user's input.",
    }


def test_the_checkpoints_prompts_add_names_and_change_none_of_coheres(variant: Variant) -> None:
    folder = variant()
    prompts = {"query": "Find it", "document": "", "search_query": "changed"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    input_types = load_profile(folder).input_types
    assert input_types["query"] == "Find it."
    assert input_types["document"] == "Represent the user's input."
    assert input_types["search_query"] == "Retrieve images or text relevant to the user's query."


def test_pixel_limits_are_the_embedders_and_not_the_preprocessors(variant: Variant) -> None:
    folder = variant()
    size = {"shortest_edge": 65_536, "longest_edge": 16_777_216}
    (folder / "preprocessor_config.json").write_text(json.dumps({"size": size}))
    rule = load_profile(folder).images.pixel_rule
    assert (rule.factor, rule.min_pixels, rule.max_pixels) == (32, 4_096, 1_843_200)


def test_a_checkpoint_trained_on_small_images_says_so_in_its_config(variant: Variant) -> None:
    rule = load_profile(variant(config=lambda config: config.update(cenote={"max_pixels": 16_384}))).images.pixel_rule
    assert (rule.min_pixels, rule.max_pixels) == (4_096, 16_384)


@pytest.mark.parametrize("own", [{"max_pixels": 100}, {"max_pixels": 2_000_000}, {"max_pixels": "x"}, [1]])
def test_a_pixel_limit_that_cannot_be_stops_the_start(variant: Variant, own: object) -> None:
    with pytest.raises(CheckpointError, match="max_pixels"):
        load_profile(variant(config=lambda config: config.update(cenote=own)))


@pytest.mark.parametrize(
    ("keys", "matryoshka", "minimum"),
    [
        ({"matryoshka_dimensions": [32, 96]}, (32, 96, 128), 32),
        ({"matryoshka_dimensions": [128]}, (128,), 128),
        ({"is_matryoshka": True}, (), 64),
        ({"is_matryoshka": False}, (128,), 128),
    ],
)
def test_config_overrides_the_lengths_offered(
    variant: Variant, keys: dict[str, object], matryoshka: tuple[int, ...], minimum: int
) -> None:
    profile = load_profile(variant(lambda config: config.update(keys)))
    assert (profile.matryoshka, profile.min_dimensions) == (matryoshka, minimum)
    assert not profile.offers(100) or not matryoshka


def test_a_short_context_lowers_the_limit(variant: Variant) -> None:
    folder = variant(lambda config: config["text_config"].update(max_position_embeddings=512))
    assert load_profile(folder).max_tokens == 512


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"model_type": "qwen3_5_vl"},
            r"'qwen3_5_vl', not supported; the nearest: .*'qwen3_vl' \(.*Qwen3-VL-Embedding",
        ),
        ({"model_type": "x"}, "'x', not supported; no .* docs/models"),
        ({"model_type": "own", "auto_map": {"AutoModel": "modeling.OwnModel"}}, r"auto_map\), which is never run here"),
        ({"text_config": None}, "text_config"),
        ({"text_config": {"hidden_size": "big"}}, "hidden_size 'big'"),
        ({"vision_config": {"patch_size": 14, "spatial_merge_size": 2}}, "patch_size 14"),
        ({"vision_config": {"patch_size": 16, "spatial_merge_size": 2}}, "deepstack_visual_indexes None"),
        ({"image_token_id": 5}, "image_token_id 5"),
        ({"matryoshka_dimensions": [0, 64]}, r"\[0, 64\]"),
        ({"matryoshka_dimensions": [256]}, r"\[256\]"),
        ({"matryoshka_dimensions": "64"}, "'64'"),
        ({"text_config": {"rope_scaling": {"type": "dynamic", "factor": 2}}}, "rope type dynamic; supported: default"),
        ({"rope_scaling": {"type": "ntk", "factor": 2}}, "rope type ntk; supported: default"),
        ({"rope_parameters": {"full_attention": {"rope_type": "longrope"}}}, "rope type longrope; supported"),
    ],
)
def test_a_checkpoint_that_cannot_be_served_rightly_stops_the_start(
    variant: Variant, keys: dict[str, object], said: str
) -> None:
    with pytest.raises(CheckpointError, match=said):
        load_profile(variant(lambda config: config.update(keys)))


def test_missing_and_damaged_files_stop_the_start(variant: Variant) -> None:
    folder = variant(tokenizer=lambda content: content.update(added_tokens=[]))
    with pytest.raises(CheckpointError, match=r"<\|im_start\|>"):
        load_profile(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"config\.json cannot be read"):
        load_profile(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(CheckpointError, match="not a JSON object"):
        load_profile(folder)
    (folder / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"config\.json cannot be read"):
        load_profile(folder)


@pytest.mark.parametrize("kind", ["sentence_transformers.models.Dense", "pylate.models.Dense.Dense"])
def test_a_module_behind_a_transformer_of_images_is_refused_by_name(variant: Variant, kind: str) -> None:
    folder = variant()
    modules = [{"path": "", "type": "sentence_transformers.models.Transformer"}, {"path": "2_Dense", "type": kind}]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(CheckpointError, match=f"modules.json has the module '{kind}'"):
        load_profile(folder)


@pytest.mark.parametrize(
    "kinds",
    [
        ["sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling"],
        ["sentence_transformers.base.modules.transformer.Transformer", "sentence_transformers.models.Normalize"],
        ["custom_st.MultiModalTransformer", "custom_st.Normalize"],
        [],
    ],
)
def test_modules_of_a_familys_own_code_pass(variant: Variant, checkpoint: Path, kinds: list[str]) -> None:
    folder = variant()
    (folder / "modules.json").write_text(json.dumps([{"path": "", "type": kind} for kind in kinds]))
    assert load_profile(folder) == load_profile(checkpoint)


def test_damaged_modules_are_refused(variant: Variant) -> None:
    folder = variant()
    (folder / "modules.json").write_text('{"type": "Dense"}')
    with pytest.raises(CheckpointError, match="not a list of objects"):
        load_profile(folder)
