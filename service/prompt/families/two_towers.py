"""Families of two towers in one space: CLIP and similar models, SigLIP, and CLAP for audio, in transformers' form.

SigLIP's texts are padded to their full length, the padding is attended to, and the last token is projected. SigLIP 2
has these towers and Gemma's tokenizer, for texts in lower case. Its checkpoints of one resolution call themselves
`siglip`, too; what tells them apart is the tokenizer. NaFlex checkpoints, which keep an image's shape, call themselves
`siglip2`.

Source: google-research/big_vision#187, transformers 5.23 `Siglip2Tokenizer`.
"""

import re
import string
from collections.abc import Mapping
from dataclasses import replace

from service.checkpoint.clap_features import check_towers, read_clap_features
from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.sentence_files import Pooling
from service.media.item import AudioRule
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.tower_profile import (
    is_class,
    make_tower_profile,
    naflex_rule,
    projection,
    section,
    shared_width,
    square_rule,
)
from service.prompt.templates.single_item import SingleItem

CLIP_TEXT = {"vocab_size": 49_408, "max_position_embeddings": 77}
CHINESE_TEXT = {"vocab_size": 30_522, "max_position_embeddings": 512}
"""A BERT reads the texts of Chinese-CLIP, and its first token is projected."""
CLIP_VISION = {"image_size": 224}
SIGLIP_TEXT = {"vocab_size": 32_000, "hidden_size": 768, "max_position_embeddings": 64}
SIGLIP_VISION = {"hidden_size": 768, "image_size": 224}
NAFLEX_VISION = {"hidden_size": 768, "patch_size": 16}
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
CLAP_TEXT = {"vocab_size": 50_265, "max_position_embeddings": 514, "pad_token_id": 1}
CLAP_AUDIO = {"spec_size": 256, "num_mel_bins": 64, "enable_fusion": False}


def make_clip_profile(
    files: CheckpointFiles, name: str, text: Mapping[str, object] = CLIP_TEXT, *, pooling: Pooling = "last_token"
) -> Profile:
    """The profile of CLIP's towers, or of likes with another text tower; nothing is padded."""
    side = positive(section(files, "vision_config", CLIP_VISION), "image_size")
    return make_tower_profile(
        files,
        name=name,
        dimensions=projection(files),
        text=section(files, "text_config", text),
        rule=square_rule(files, side),
        pooling=pooling,
    )


def canonical(text: str) -> str:
    """Lower case, no ASCII punctuation, one blank for all white space between words and none around them.

    Where tokenizer.json does the same nothing more happens.

    Source: transformers 5.23 `SiglipTokenizer.canonicalize_text`; google-research/big_vision at 3b8e5ab.
    """
    return re.sub(r"\s+", " ", text.lower().translate(NO_PUNCTUATION)).strip()


def make_siglip(files: CheckpointFiles) -> Profile:
    """Padded; texts made canonical where the tokenizer is SigLIP's own."""
    text, vision = section(files, "text_config", SIGLIP_TEXT), section(files, "vision_config", SIGLIP_VISION)
    return make_tower_profile(
        files,
        name="siglip",
        dimensions=shared_width(text, vision),
        text=text,
        rule=square_rule(files, positive(vision, "image_size")),
        is_padded=True,
        layout=SingleItem(canonical) if is_class(files, "SiglipTokenizer") else SingleItem(),
    )


def make_siglip2(files: CheckpointFiles) -> Profile:
    """Padded, in lower case."""
    if files.model_type == "siglip":
        return replace(make_siglip(files), name="siglip2", lower_case=True)
    text, vision = section(files, "text_config", SIGLIP_TEXT), section(files, "vision_config", NAFLEX_VISION)
    return make_tower_profile(
        files,
        name="siglip2-naflex",
        dimensions=shared_width(text, vision),
        text=text,
        rule=naflex_rule(files, positive(vision, "patch_size")),
        is_padded=True,
        lower_case=True,
    )


def is_siglip2(files: CheckpointFiles) -> bool:
    """Tell SigLIP 2 from SigLIP."""
    return files.model_type == "siglip2" or is_class(files, "GemmaTokenizer", "Siglip2Tokenizer")


def make_clap(files: CheckpointFiles) -> Profile:
    """The rate is the feature extractor's. Positions of texts begin after the padding token's number."""
    text, features = section(files, "text_config", CLAP_TEXT), read_clap_features(files.folder)
    check_towers(features, section(files, "audio_config", CLAP_AUDIO))
    num_positions = positive(text, "max_position_embeddings") - int(text["pad_token_id"] or 0) - 1
    is_cropped = features.truncation == "rand_trunc"
    crop = features.max_samples if is_cropped else 0
    return make_tower_profile(
        files,
        name="clap",
        architecture="clap",
        dimensions=projection(files),
        text={**text, "max_position_embeddings": num_positions},
        rule=AudioRule(rate_hz=features.sampling_rate, crop_samples=crop),
        pooling="cls",
        layout=SingleItem(other="audio file"),
    )


ONE_IN_A_BATCH = Difference(
    "CLAP, fused, no audio longer than its window",
    "transformers marks a random one of the batch `is_longer`",
    "each audio file is embedded as it is alone",
    "a vector must not depend on its neighbors",
)
LONGER = Difference(
    "CLAP, audio longer than its window",
    "takes its parts at random places",
    "the middle; of each third the middle",
    "the same audio has the same vector",
)

CLIP = Family(
    model_types=("clip",),
    about="CLIP",
    make_profile=lambda files: make_clip_profile(files, "clip"),
    kind="two towers",
    stock="CLIPModel",
    modalities="text or image",
    pooling="end token, projected; image: CLS, projected",
    prompt="bare",
    tests=("tests/models/two_tower/", "tests/models/over_http/"),
)

SIGLIP = replace(
    CLIP,
    model_types=("siglip",),
    about="SigLIP",
    make_profile=make_siglip,
    stock="SiglipModel",
    pooling="last of 64 padded tokens; image: attention",
    prompt="padded, canonical",
    tests=("tests/models/two_tower/",),
)

FAMILIES = {
    "clip": CLIP,
    "metaclip_2": replace(  # a tokenizer of many languages
        CLIP,
        model_types=("metaclip_2",),
        about="MetaCLIP 2",
        make_profile=lambda files: make_clip_profile(files, "metaclip-2"),
        stock="MetaClip2Model",
        pooling="CLIP's",
        tests=("tests/models/two_tower/",),
    ),
    "chinese_clip": replace(
        CLIP,
        model_types=("chinese_clip",),
        about="Chinese-CLIP",
        make_profile=lambda files: make_clip_profile(files, "chinese-clip", CHINESE_TEXT, pooling="cls"),
        stock="ChineseCLIPModel",
        pooling="CLS, projected",
        tests=("tests/models/two_tower/",),
    ),
    "siglip": SIGLIP,
    "siglip2": replace(
        SIGLIP,
        model_types=("siglip", "siglip2"),
        about="SigLIP 2, also NaFlex",
        make_profile=make_siglip2,
        is_of=is_siglip2,
        rank=1,
        stock="SiglipModel with Gemma's tokenizer; NaFlex: Siglip2Model",
        pooling="SigLIP's",
        prompt="padded, lower case",
        tests=("tests/models/two_tower/", "tests/models/over_http/"),
    ),
    "clap": Family(
        model_types=("clap",),
        about="CLAP",
        make_profile=make_clap,
        kind="two towers",
        stock="ClapModel",
        modalities="text or audio",
        pooling="CLS, projected; audio: mean, projected",
        prompt="bare",
        tests=("tests/models/audio/", "tests/journey/test_audio.py"),
        differences=(ONE_IN_A_BATCH, LONGER),
    ),
}
