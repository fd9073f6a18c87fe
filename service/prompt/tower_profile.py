"""The profile of a two-tower model, from its own files. Pages of such families are calls of `make_tower_profile`."""

from collections.abc import Mapping
from typing import Any

from service.media.picture_rule import PictureRule
from service.media.reading import Color
from service.media.sound_rule import SoundRule
from service.prompt.checkpoint_files import CheckpointFiles, positive
from service.prompt.profile import Padding, PictureProfile, Pooling, Profile, SoundProfile, UnsupportedModelError
from service.prompt.single_item import SingleItem
from service.prompt.text_profile import ROLES, protected_tokens
from service.prompt.tokenizer_file import TokenizerFile

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
    rule: PictureRule | SoundRule,
    pooling: Pooling = "last_token",
    is_padded: bool = False,
    lower_case: bool = False,
    layout: SingleItem = SingleItem(),  # noqa: B008  # frozen
) -> Profile:
    """Join what config.json and the tokenizer's files say.

    A picture or sound is one placeholder, with an id behind the vocabulary; its features are its final vector.

    Args:
        files: the checkpoint's.
        name: of the family.
        architecture: which code runs it.
        dimensions: of the space that both towers project to.
        text: the text tower's section of config.json, defaults filled in.
        rule: how pictures are resized, or sounds heard.
        pooling: which hidden state the text tower projects.
        is_padded: texts are padded to their full length, and the padding is attended to.
        lower_case: texts are made lower case first.
        layout: what becomes of a text, a picture or a sound.

    Raises:
        UnsupportedModelError: files are missing, damaged, or ask for what is not supported.
    """
    max_tokens = min(positive(text, "max_position_embeddings"), _max_length(files))
    num_ids = positive(text, "vocab_size")
    offered = files.matryoshka(dimensions) or (dimensions,)
    sounds = SoundProfile(rule=rule, audio_pad=num_ids) if isinstance(rule, SoundRule) else None
    pictures = None if isinstance(rule, SoundRule) else _pictures(rule, dimensions, num_ids)
    return Profile(
        name=name,
        architecture=architecture,
        default_instruction=None,
        input_types={role: "" for role in (*ROLES, "image") if pictures or role != "image"},
        pooling=pooling,
        normalize=True,
        dimensions=dimensions,
        min_dimensions=offered[0],
        matryoshka=offered,
        max_tokens=max_tokens,
        modalities=("text", "image") if pictures else ("text", "audio"),
        pictures=pictures,
        sounds=sounds,
        takes_instructions=False,
        mixes=False,
        protected=_protected(files),
        layout=layout,
        lower_case=lower_case,
        padding=Padding(_pad_token(files), max_tokens) if is_padded else None,
    )


def _pictures(rule: PictureRule, dimensions: int, num_ids: int) -> PictureProfile:
    return PictureProfile(
        pixel_rule=rule, background=WHITE, feature_width=dimensions, image_pad=num_ids, video_pad=num_ids + 1
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
    """Length of the vectors that both towers are projected to, as CLIP's kin have it."""
    return positive({"projection_dim": 512, **files.config}, "projection_dim")


def shared_width(text: Mapping[str, Any], vision: Mapping[str, Any]) -> int:
    """Length of the vectors of SigLIP's towers, which have to agree without a projection of the picture's.

    Raises:
        UnsupportedModelError: they do not, or pictures are not pooled.
    """
    width = positive(vision, "hidden_size")
    projected = text.get("projection_size") or positive(text, "hidden_size")
    if width != projected or vision.get("vision_use_head") is False:
        raise UnsupportedModelError(
            f"config.json has vectors of {projected} for texts and {width} for pictures, vision_use_head "
            f"{vision.get('vision_use_head', True)}; supported: equal lengths, and a pooling head"
        )
    return width


def is_class(files: CheckpointFiles, *names: str) -> bool:
    """Whether tokenizer_config.json names one of these classes of tokenizer."""
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
    """Id of the token that texts are padded with, on the right.

    Raises:
        UnsupportedModelError: tokenizer_config.json names none that tokenizer.json has, or pads on the left.
    """
    config = files.optional("tokenizer_config.json")
    if config.get("padding_side", "right") != "right":
        raise UnsupportedModelError(
            f"tokenizer_config.json has padding_side {config['padding_side']!r}; supported: right, as SigLIP is trained"
        )
    token = config.get("pad_token")
    content = token.get("content") if isinstance(token, dict) else token
    added = files.read_object("tokenizer.json").get("added_tokens", [])
    for one in added:
        if one["content"] == content:
            return int(one["id"])
    raise UnsupportedModelError(
        f"tokenizer_config.json has pad_token {content!r}, which is none of tokenizer.json's added tokens; this model "
        "attends to padding"
    )
