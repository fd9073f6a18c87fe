"""Qwen2.5-Omni's thinker as an embedder: texts, images, audio and videos, and mixtures of them in one item.

With the files of sentence-transformers a folder's own chat template, pooling and prompts count (e5-omni, LCO).
Without them the files are those of a language model, and a family that is asked for has the model's own script.

Source: transformers 5.24 `Qwen2_5OmniThinkerModel`; LCO-Embedding/LCO-Embedding, `README.md`, and mteb 2.26
`lco_embedding_models.py`; the card of Haon-Chen/e5-omni-7B, and so of Tevatron/OmniEmbed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.reranker_kind import module_kinds
from service.checkpoint.sentence_settings import template_variables
from service.media.omni_media import VIDEO, audio_numbers, audio_rule, check_visual
from service.prompt.families.embedding_gemma import media_ids
from service.prompt.profile.chat_templates import read_turn_frame
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import AudioProfile, ImageProfile, Profile, input_types
from service.prompt.profile.qwen2_vl_files import check_patches, pixel_rule, processor_pixels
from service.prompt.profile.text_profile import make_text_profile
from service.prompt.profile.tower_profile import WHITE
from service.prompt.templates.media_text import MediaText, TurnFrame
from service.prompt.templates.plain_text import PlainText

WHOLE = "qwen2_5_omni"
"""Type of folders that have the talker's configuration and weights, too."""
TOKENS = {
    "image_token_index": ("<|IMAGE|>", 151_655),
    "video_token_index": ("<|VIDEO|>", 151_656),
    "audio_token_index": ("<|AUDIO|>", 151_646),
    "vision_start_token_id": ("<|vision_bos|>", 0),  # without these the reference finds no images
    "vision_end_token_id": ("<|vision_eos|>", 151_653),
    "audio_start_token_id": ("<|audio_bos|>", 151_647),
    "audio_end_token_id": ("<|audio_eos|>", 151_648),
}
"""Keys of config.json: the token in tokenizer.json, and its number where config.json has none."""
MARKS: Mapping[str, str] = {
    "image": "<|vision_bos|><|IMAGE|><|vision_eos|>",
    "video": "<|vision_bos|><|VIDEO|><|vision_eos|>",
    "audio": "<|audio_bos|><|AUDIO|><|audio_eos|>",
}


def make_profile(files: CheckpointFiles) -> Profile:
    """Of a folder with the files of sentence-transformers."""
    return _profile(files, read_turn_frame(files, template_variables(files), MARKS))


def make_scripted(
    files: CheckpointFiles, *, closing: Callable[[Sequence[str]], str] = lambda _: "", query: str = "", end: str = ""
) -> Profile:
    """See `make_profile`; of a language model's folder, whose answer's first state is the vector.

    Args:
        closing: a text after an item, by the kinds of its parts.
        query: prefix of queries in the user's turn.
        end: special token at the end, which is pooled then.
    """
    frame = read_turn_frame(files, {"add_generation_prompt": True}, MARKS, closing)
    ends = files.special_tokens({end: end}).values() if end else ()
    told = (*frame.plain, None) if query else frame.told
    tails = {kinds: (*tail, *ends) for kinds, tail in frame.tails.items()}
    profile = _profile(files, TurnFrame(frame.plain, told, tails))
    return replace(profile, pooling="last_token", normalize=True, input_types=input_types("", query=query))


def in_one_word(kinds: Sequence[str]) -> str:
    """LCO-Embedding's text after an item."""
    first = next((kind for kind in ("image", "video", "audio") if kind in kinds), "text")
    return f"\nSummarize the above {first} in one word:"


def _profile(files: CheckpointFiles, frame: TurnFrame) -> Profile:
    part = "thinker_config" if files.model_type == WHOLE else ""
    thinker, text = CheckpointFiles(files.folder, part), CheckpointFiles(files.folder, f"{part}.text_config".strip("."))
    profile = make_text_profile(text, name="qwen2.5-omni", encodes="messages")
    if not isinstance(profile.layout, PlainText):
        found = f"{files.folder} has late interaction's files"
        raise CheckpointError(f"{found}; token vectors of Qwen2.5-Omni are not built")
    rule = processor_pixels(files, pixel_rule(4, 16_384))
    check_patches(thinker.section("vision_config"), rule)
    check_visual(files)
    mels = positive({"num_mel_bins": 128, **thinker.section("audio_config")}, "num_mel_bins")
    if (given := audio_numbers(files)["feature_size"]) != mels:
        raise CheckpointError(f"feature_extractor has feature_size {given}, and config.json num_mel_bins {mels}")
    ids = media_ids(thinker, TOKENS)
    seen, heard = ((ids[f"{one}_start_token_id"], ids[f"{one}_end_token_id"]) for one in ("vision", "audio"))
    return replace(
        profile,
        architecture="qwen_omni",
        modalities=("text", "image", "video", "audio"),
        images=ImageProfile(
            pixel_rule=rule,
            background=WHITE,
            feature_width=profile.dimensions,
            image_pad=ids["image_token_index"],
            video_pad=ids["video_token_index"],
            video_rule=VIDEO,
        ),
        audios=AudioProfile(rule=audio_rule(files), audio_pad=ids["audio_token_index"]),
        layout=MediaText(profile.layout, {"image": seen, "video": seen, "audio": heard}, frame, is_video_one=True),
        takes_instructions=None in frame.told,
    )


SOUND = Difference(
    "Qwen2.5-Omni's thinker, a video with sound",
    "with `use_audio_in_video` its sound stands among its frames",
    "frames alone; the sound can be sent as a part of its own",
    "sentence-transformers loads none, and mteb none",
)
FRAMES = Difference(
    "Qwen2.5-Omni's thinker, frames of a video",
    "2 a second by qwen-omni-utils, which e5-omni's and LCO's scripts call; sentence-transformers leaves them to "
    "transformers",
    "as qwen-omni-utils",
    "transformers' own processor of videos needs torchvision, and takes other frames by its release",
)
OMNI = Family(
    model_types=("qwen2_5_omni_thinker", WHOLE),
    about="Qwen2.5-Omni's thinker with sentence-transformers' files: e5-omni, LCO-Embedding-Omni",
    make_profile=make_profile,
    is_of=lambda files: bool(module_kinds(files)),
    kind="vision-language",
    stock="Qwen2_5OmniThinkerModel",
    modalities="text, image, video, audio",
    pooling="last token or mean, by its files",
    prompt="the folder's own chat template",
    tests=("tests/models/omni/",),
    differences=(SOUND, FRAMES),
)
_ASKED = partial(replace, OMNI, is_of=lambda _: False, pooling="last token", differences=())

FAMILIES = {
    "qwen2_5_omni": OMNI,
    "lco_omni": _ASKED(
        about="LCO-Embedding-Omni 3B and 7B by their script",
        make_profile=partial(make_scripted, closing=in_one_word),
        prompt="chat template, `Summarize the above image in one word:` and likewise",
    ),
    "e5_omni": _ASKED(
        about="e5-omni 3B and 7B, and OmniEmbed merged, by their script",
        make_profile=partial(make_scripted, query="Query: ", end="<|endoftext|>"),
        prompt="chat template, `Query: ` before a query, `<|endoftext|>` after it",
    ),
}
