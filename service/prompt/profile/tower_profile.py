"""The profile of a two-tower model, from its own files; modules of such families call these helpers."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from service.checkpoint.config_files import CheckpointFiles, positive, token_text
from service.checkpoint.image_processor import FILE, read_image_processor, read_square
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.sentence_files import Pooling
from service.media.item import AudioRule, Color
from service.media.resize.image_rule import ImageRule
from service.media.resize.tower_rule import NaflexRule, SquareRule
from service.prompt.profile.profile import AudioProfile, ImageProfile, Padding, Profile
from service.prompt.profile.text_profile import ROLES, protected_tokens
from service.prompt.templates.single_item import SingleItem
from service.prompt.tokenizer.tokenizer_file import TokenizerFile

WHITE: Color = (255, 255, 255)
"""Under transparency of every mode: transformers lays it over white.

Source: transformers 5.23 `image_transforms.convert_to_rgb`.
"""
MAX_LENGTH = 1 << 20
"""`model_max_length` of a tokenizer that has none is a number far beyond."""


def make_tower_profile(
    files: CheckpointFiles,
    *,
    name: str,
    architecture: str = "two_tower",
    dimensions: int,
    text: Mapping[str, Any],
    rule: ImageRule | AudioRule,
    pooling: Pooling = "last_token",
    is_padded: bool = False,
    lower_case: bool = False,
    layout: SingleItem = SingleItem(),  # noqa: B008  # frozen
) -> Profile:
    """Join what config.json and the tokenizer's files say.

    An image or audio is one placeholder, with an id after the vocabulary; its features are its final vector, of
    `dimensions` as a text's.
    """
    max_tokens = min(positive(text, "max_position_embeddings"), _max_length(files))
    num_ids = positive(text, "vocab_size")
    offered = files.matryoshka(dimensions) or (dimensions,)
    audios = images = None
    if isinstance(rule, AudioRule):
        audios = AudioProfile(rule=rule, audio_pad=num_ids)
    else:
        images = ImageProfile(
            pixel_rule=rule, background=WHITE, feature_width=dimensions, image_pad=num_ids, video_pad=num_ids + 1
        )
    return Profile(
        name=name,
        architecture=architecture,
        default_instruction=None,
        input_types={role: "" for role in (*ROLES, "image") if images or role != "image"},
        pooling=pooling,
        normalize=True,
        dimensions=dimensions,
        min_dimensions=offered[0],
        matryoshka=offered,
        max_tokens=max_tokens,
        modalities=("text", "image") if images else ("text", "audio"),
        images=images,
        audios=audios,
        takes_instructions=False,
        mixes=False,
        protected=_protected(files),
        layout=layout,
        lower_case=lower_case,
        padding=Padding(_pad_token(files), max_tokens) if is_padded else Padding(),
    )


def section(files: CheckpointFiles, name: str, defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tower's section of config.json, with what transformers fills in.

    Older files have a section `{name}_dict` as well, which then counts alone.

    Source: transformers 5.23 `CLIPConfig.__post_init__`.
    """
    old, own = files.config.get(f"{name}_dict"), files.config.get(name)
    found = old if isinstance(old, dict) else own
    return {**defaults, **(found if isinstance(found, dict) else {})}


def projection(files: CheckpointFiles) -> int:
    """Length of the vectors that both towers are projected to, as CLIP-like models have it."""
    return positive({"projection_dim": 512, **files.config}, "projection_dim")


def shared_width(text: Mapping[str, Any], vision: Mapping[str, Any]) -> int:
    """Length of the vectors of SigLIP's towers, which have to agree without a projection of the image's."""
    width = positive(vision, "hidden_size")
    projected = text.get("projection_size") or positive(text, "hidden_size")
    if width != projected or vision.get("vision_use_head") is False:
        raise CheckpointError(
            f"config.json has vectors of {projected} for texts and {width} for images, vision_use_head "
            f"{vision.get('vision_use_head', True)}; supported: equal lengths, and a pooling head"
        )
    return width


def is_class(files: CheckpointFiles, *names: str) -> bool:
    """True where tokenizer_config.json names one of these classes of tokenizer."""
    return str(files.optional("tokenizer_config.json").get("tokenizer_class", "")).removesuffix("Fast") in names


def _protected(files: CheckpointFiles) -> tuple[int, ...]:
    """Ids that no text may become. CLIP's end token is also that of unknown words, of which bytes leave none."""
    file = TokenizerFile.read(files.folder)
    if not file.is_byte_level:
        return protected_tokens(file.content)
    return tuple(token["id"] for token in file.content.get("added_tokens", []) if token.get("special"))


def _max_length(files: CheckpointFiles) -> int:
    length = files.optional("tokenizer_config.json").get("model_max_length")
    return length if type(length) is int and 0 < length < MAX_LENGTH else MAX_LENGTH


def _pad_token(files: CheckpointFiles) -> int:
    """Id of the token that texts are padded with, on the right."""
    config = files.optional("tokenizer_config.json")
    if config.get("padding_side", "right") != "right":
        raise CheckpointError(
            f"tokenizer_config.json has padding_side {config['padding_side']!r}; supported: right, as SigLIP is trained"
        )
    content = token_text(config.get("pad_token"))
    added = files.read_object("tokenizer.json").get("added_tokens", [])
    for one in added:
        if one["content"] == content:
            return int(one["id"])
    raise CheckpointError(
        f"tokenizer_config.json has pad_token {content!r}, which is none of tokenizer.json's added tokens; this model "
        "attends to padding"
    )


def square_rule(files: CheckpointFiles, image_size: int) -> SquareRule:
    """The rule by which images become the model's square, `image_size` by config.json."""
    found = read_square(files.folder, files.model_type)
    if found.side != image_size:
        raise CheckpointError(
            f"{FILE} makes images of {found.side} pixels; the model takes squares of {image_size} pixels"
        )
    return SquareRule(**asdict(found))


def naflex_rule(files: CheckpointFiles, patch_size: int) -> NaflexRule:
    """The rule by which images become patches, of `patch_size` by config.json."""
    values = read_image_processor(files.folder, files.model_type)
    if values["patch_size"] != patch_size:
        raise CheckpointError(f"{FILE} has patch_size {values['patch_size']!r}, and config.json {patch_size}")
    most = positive(values, "max_num_patches")
    return NaflexRule(patch_size=patch_size, max_num_patches=most, resample=values["resample"])
