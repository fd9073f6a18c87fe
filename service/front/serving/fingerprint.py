"""The model's fingerprint: all that decides a vector beside the request, as one text that is compared exactly.

In: what the engine says of the files that it loaded, and what the front makes of prompts and images. Left out is what
moves no vector by more than rounding, or only where a request asks for it: device, batch, limits of size.
"""

import hashlib

import msgspec

from schemas.fields import PartOrder
from service.front.served_model import ServedModel
from service.front.serving.from_settings import reading_rule, video_rule
from service.ipc.messages import Ready
from service.media.key import AUDIO_VERSION, PREPROCESSING_VERSION, VIDEO_VERSION
from service.prompt.conversation import Conversation
from service.prompt.truncation import Truncation
from service.settings import Settings

TEXT = "Is this the Model that it was?"
NUM_DIGITS = 32


def model_fingerprint(settings: Settings, model: ServedModel, ready: Ready) -> str:
    """The first 128 bits of a SHA-256, in hexadecimal digits.

    Args:
        settings: which of them say how images are read and texts are parsed.
        model: its profile and its tokenizer.
        ready: an engine's facts, with the digest of every byte that it loaded.
    """
    profile, frames = model.profile, video_rule(settings, model)
    parts = (
        ready.model_digest,
        (profile.name, profile.normalize, settings.strict_reference, _prompts(model)),
        (PREPROCESSING_VERSION, *(model.pixel_rule.key_parts if model.pixel_rule else ())),
        (reading_rule(settings, model).key_part, frames and (VIDEO_VERSION, frames)),
        (AUDIO_VERSION, *(profile.audios.rule.key_parts if profile.audios else ())),
    )
    return hashlib.sha256(msgspec.msgpack.encode(parts)).hexdigest()[:NUM_DIGITS]


def fingerprint_in_order(fingerprint: str, part_order: PartOrder | None) -> str:
    """A model's fingerprint, or that of its vectors of parts as written: the two do not belong in one index."""
    if part_order != "as_written":
        return fingerprint
    return hashlib.sha256(f"{fingerprint} {part_order}".encode()).hexdigest()[:NUM_DIGITS]


def _prompts(model: ServedModel) -> list[list[int]]:
    """A known text as tokens, bare and under an instruction: what no file says, the family's template, shows there."""
    instructions = (None, "Tell models apart.") if model.profile.takes_instructions else model.profile.roles or (None,)
    unbounded = Truncation(model.profile.max_tokens, "right")
    conversations = (Conversation(one, model.profile.turns_about(TEXT)) for one in instructions)
    return [model.builder.build(one, unbounded).plan.ids for one in conversations]
