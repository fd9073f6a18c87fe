"""EmbeddingGemma 2: texts, images, audio and videos in one space, and mixtures of them in one item.

Its prompts stand in front of whatever an item holds. Shorter vectors are those of the model card.

Source: transformers 5.24 `EmbeddingGemma2Model`, its processor and conversion script; sentence-transformers 6.2.
"""

from collections.abc import Mapping
from dataclasses import replace

from service.checkpoint.chat_template import read_chat_templates
from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.sentence_settings import template_variables
from service.media.gemma_media import audio_rule, image_rule, video_rule
from service.media.item import MediaKind
from service.prompt.families.text_decoders import GEMMA_DIMENSIONS
from service.prompt.profile.chat_templates import read_turn_frame
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import AudioProfile, ImageProfile, Profile
from service.prompt.profile.text_profile import make_text_profile
from service.prompt.profile.tower_profile import WHITE
from service.prompt.templates.media_text import MediaText, TurnFrame
from service.prompt.templates.plain_text import PlainText

MAX_TOKENS = 8_192
"""Context of the model card; positions go on beyond."""
SEEN = {
    "image_token_id": ("<|image|>", 258_880),
    "video_token_id": ("<|video|>", 258_884),
    "boi_token_id": ("<|image>", 255_999),
    "eoi_token_id": ("<image|>", 258_882),
}
HEARD = {
    "audio_token_id": ("<|audio|>", 258_881),
    "boa_token_id": ("<|audio>", 256_000),
    "eoa_token_index": ("<audio|>", 258_883),
}
"""Keys of config.json: the token in tokenizer.json, and its number where config.json has none."""
MARKS = {kind: f"<|{kind}|>" for kind in ("image", "video", "audio")}
"""What the chat template writes for a medium."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Of the text part's files, and of the towers that are there."""
    text = CheckpointFiles(files.folder, "text_config")
    full = positive(text.config, "embedding_dim")
    is_any = files.config.get("is_matryoshka") is True and not files.matryoshka(full)
    profile = make_text_profile(
        text,
        name="embeddinggemma-2",
        width="embedding_dim",
        matryoshka=() if is_any else files.matryoshka(full) or GEMMA_DIMENSIONS,
        min_dimensions=1 if is_any else 0,
        encodes="messages",
    )
    has_template = bool(read_chat_templates(files))
    frame = read_turn_frame(files, template_variables(files), MARKS) if has_template else TurnFrame()
    assert isinstance(profile.layout, PlainText)  # `make_text_profile` has no other without ColBERT's files
    sees, hears = _has(files, "vision_config"), _has(files, "audio_config")
    seen, heard = media_ids(files, SEEN if sees else {}), media_ids(files, HEARD if hears else {})
    borders: dict[MediaKind, tuple[int, int]] = {}
    images = audios = None
    if sees:
        borders |= dict.fromkeys(("image", "video"), (seen["boi_token_id"], seen["eoi_token_id"]))
        images = ImageProfile(
            pixel_rule=image_rule(files),
            background=WHITE,
            feature_width=positive(text.config, "hidden_size"),
            image_pad=seen["image_token_id"],
            video_pad=seen["video_token_id"],
            video_rule=video_rule(files),
        )
    if hears:
        borders["audio"] = heard["boa_token_id"], heard["eoa_token_index"]
        audios = AudioProfile(rule=audio_rule(files), audio_pad=heard["audio_token_id"])
    return replace(
        profile,
        architecture="embedding_gemma2",
        max_tokens=min(profile.max_tokens, MAX_TOKENS),
        modalities=("text", *(("image", "video") if sees else ()), *(("audio",) if hears else ())),
        images=images,
        audios=audios,
        layout=MediaText(profile.layout, borders, frame),
    )


def _has(files: CheckpointFiles, tower: str) -> bool:
    """True if the tower is there: without a key, or with null, transformers makes none."""
    found = files.config.get(tower)
    if not isinstance(found, dict | None):
        raise CheckpointError(f"config.json has {tower} {found!r}; an object or null is needed")
    return found is not None


def media_ids(files: CheckpointFiles, tokens: Mapping[str, tuple[str, int]]) -> dict[str, int]:
    """Numbers of special tokens, in which config.json and tokenizer.json must agree."""
    numbers = files.special_tokens({key: token for key, (token, _) in tokens.items()})
    for key, (token, default) in tokens.items():
        if (found := files.config.get(key, default)) != numbers[key]:
            raise CheckpointError(f"config.json has {key} {found!r}, but tokenizer.json numbers {token} {numbers[key]}")
    return numbers


PLACEHOLDERS = Difference(
    "EmbeddingGemma 2, a text with `<|image|>`, `<|video|>` or `<|audio|>` in it",
    "such a token takes the place of a medium",
    "it is text; parts of an item say where media stand",
    "a client's text never becomes a special token",
)
ROUNDING = Difference(
    "EmbeddingGemma 2 and Nemotron 3.5, images and frames that are resized",
    "with torchvision by its uint8 kernel, without it by Pillow",
    "by Pillow; of torchvision's values one in 300 is 1 or 2 of 255 off",
    "the two references differ from each other likewise, and torchvision from itself on other processors",
)

FAMILIES = {
    "embedding_gemma2": Family(
        model_types=("embedding_gemma2",),
        about="EmbeddingGemma 2",
        make_profile=make_profile,
        kind="vision-language",
        stock="EmbeddingGemma2Model",
        modalities="text, image, video, audio, as far as its towers are there",
        pooling="mean, by its files",
        prompt="prefix by its files, then texts and media as they were written",
        tests=("tests/models/omni/",),
        differences=(PLACEHOLDERS, ROUNDING),
    )
}
