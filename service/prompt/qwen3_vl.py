"""Qwen3-VL-Embedding, 2B and 8B and its likes: the constants and the template.

In: a checkpoint's numbers. Out: a `Profile`; and for each conversation, its pieces in order.
Reads no file (`detect` does) and tokenizes nothing (`build` does).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from service.media.picture import Picture
from service.media.resize import PixelRule
from service.media.video_rule import VideoRule
from service.prompt.conversation import Conversation, Turn
from service.prompt.instruction import punctuate
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.profile import Profile, SpecialTokens

MODEL_TYPE = "qwen3_vl"
DEFAULT_INSTRUCTION = "Represent the user's input."
"""With its full stop, as the code has it; the README's prose drops it."""
QUERY_INSTRUCTION = "Retrieve images or text relevant to the user's query."
"""The first task of the official README. Documents keep the default instruction (reference section 12)."""
PIXEL_RULE = PixelRule(factor=32, min_pixels=4_096, max_pixels=1_843_200, max_aspect=200)
"""The embedder's constants, never the checkpoint's preprocessor_config.json.

That file carries Qwen3-VL's own limits, 65,536 and 16,777,216, which give other grids and so other vectors: a 77 x 100
thumbnail is 4 x 6 patches under the embedder and 16 x 20 under the file (reference section 3.4).
"""
MAX_TOKENS = 8_192
"""The embedder's `max_length`."""
MIN_DIMENSIONS = 64
"""Shortest matryoshka prefix of the model card."""
TOKEN_NAMES: Mapping[str, str] = {
    "im_start": "<|im_start|>",
    "im_end": "<|im_end|>",
    "vision_start": "<|vision_start|>",
    "vision_end": "<|vision_end|>",
    "image_pad": "<|image_pad|>",
    "video_pad": "<|video_pad|>",
    "end_of_text": "<|endoftext|>",
}
"""Field of `SpecialTokens` to the token's text in the tokenizer's file."""
INPUT_TYPES: Mapping[str, str] = {
    "search_document": DEFAULT_INSTRUCTION,
    "search_query": QUERY_INSTRUCTION,
    "classification": DEFAULT_INSTRUCTION,
    "clustering": DEFAULT_INSTRUCTION,
    "image": DEFAULT_INSTRUCTION,
}
"""Cohere's names. The checkpoint's own prompts add names and never change these."""


def make_profile(
    tokens: SpecialTokens,
    *,
    dimensions: int,
    num_deepstack: int,
    matryoshka: tuple[int, ...] | None,
    pixel_rule: PixelRule,
    max_positions: int,
    prompts: Mapping[str, str],
) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    Args:
        tokens: ids of the special tokens.
        dimensions: hidden size of the language model.
        num_deepstack: layers of the vision tower that give features of their own.
        matryoshka: the lengths offered, ascending; None for any from 64 up.
        pixel_rule: `PIXEL_RULE`, or the checkpoint's own.
        max_positions: longest sequence the checkpoint allows, tokens.
        prompts: named instructions of the checkpoint.

    Returns:
        The profile.

    Source: reference/qwen3-vl-embedding.md sections 1, 2.1 and 2.5.
    """
    own = {name: punctuate(text, DEFAULT_INSTRUCTION) for name, text in prompts.items()}
    return Profile(
        name="qwen3-vl-embedding",
        default_instruction=DEFAULT_INSTRUCTION,
        query_instruction=QUERY_INSTRUCTION,
        input_types={**own, **INPUT_TYPES},
        pooling="last_token",
        normalize=True,
        dimensions=dimensions,
        feature_width=dimensions * (1 + num_deepstack),
        min_dimensions=matryoshka[0] if matryoshka else min(MIN_DIMENSIONS, dimensions),
        matryoshka=matryoshka,
        pixel_rule=pixel_rule,
        video_rule=_video_rule(pixel_rule),
        max_tokens=min(MAX_TOKENS, max_positions),
        tokens=tokens,
        modalities=("text", "image", "video"),
        layout=layout,
    )


def _video_rule(pixel_rule: PixelRule) -> VideoRule:
    """The family's, with frames no larger than the pictures that the checkpoint knows."""
    largest = pixel_rule.max_pixels
    rule = VideoRule()
    return replace(
        rule,
        min_frame_pixels=min(rule.min_frame_pixels, largest),
        max_frame_pixels=min(rule.max_frame_pixels, largest),
    )


def layout(profile: Profile, conversation: Conversation) -> Sequence[Piece]:
    r"""Render a conversation as ChatML, system turn first.

    `<|im_start|>system\n{instruction}<|im_end|>\n<|im_start|>user\n{media}{text}<|im_end|>\n<|im_start|>assistant\n`

    Args:
        profile: for the special tokens, the default instruction and the flags' defaults.
        conversation: with at least one turn.

    Returns:
        The pieces in order; only the text of the last user turn is cuttable.

    Source: reference/qwen3-vl-embedding.md section 2.3.
    """
    is_open = _chosen(conversation.continue_final_message, profile.continue_final_message)
    default_opening = profile.add_generation_prompt and not is_open
    system = "system\n" + punctuate(conversation.instruction, profile.default_instruction)
    pieces = list(_enclose(profile.tokens, [TextPiece(system, user_start=len("system\n"))]))
    last_user = max((i for i, turn in enumerate(conversation.turns) if turn.role == "user"), default=None)
    for i, turn in enumerate(conversation.turns):
        body = _body(profile.tokens, turn, is_cuttable=i == last_user)
        pieces += _enclose(profile.tokens, body, is_open=is_open and i == len(conversation.turns) - 1)
    if _chosen(conversation.add_generation_prompt, default_opening):
        pieces += [TokenPiece(profile.tokens.im_start), TextPiece("assistant\n")]
    return pieces


def _chosen(asked: bool | None, default: bool) -> bool:
    return default if asked is None else asked


def _enclose(tokens: SpecialTokens, body: Sequence[Piece], *, is_open: bool = False) -> Iterator[Piece]:
    yield TokenPiece(tokens.im_start)
    yield from body
    if not is_open:
        yield TokenPiece(tokens.im_end)
        yield TextPiece("\n")


def _body(tokens: SpecialTokens, turn: Turn, *, is_cuttable: bool) -> Sequence[Piece]:
    header = turn.role + "\n"
    if not turn.images and not turn.videos:  # one text: the client's first newline merges with the header's
        return [TextPiece(header + turn.text, user_start=len(header), cuttable=is_cuttable)]
    pieces: list[Piece] = []
    for text, item in _media(header, turn):
        pieces += [TextPiece(text)] if text else []
        pieces += [TokenPiece(tokens.vision_start), ImagePiece(item), TokenPiece(tokens.vision_end)]
    return [*pieces, TextPiece(turn.text, user_start=0, cuttable=is_cuttable)]


def _media(header: str, turn: Turn) -> Iterator[tuple[str, Picture]]:
    """Each pair of frames and each picture, with the template's words before it: tokenized as one text.

    Source: reference/qwen3-vl-embedding.md section 4, the form of transformers 4.57 that the model was trained on; 5.x
    puts two more vision tokens around all pairs of a video.
    """
    for video in turn.videos:
        for time_s, pair in zip(video.times_s, video.pairs, strict=True):
            yield f"{header}<{time_s:.1f} seconds>", pair
            header = ""
    for item in turn.images:
        yield header, item
        header = ""
