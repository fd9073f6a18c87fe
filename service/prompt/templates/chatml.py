r"""ChatML, the template of Qwen's vision-language models: a conversation as text, special tokens and images.

`<|im_start|>system\n{instruction}<|im_end|>\n<|im_start|>user\n{media}{text}<|im_end|>\n<|im_start|>assistant\n`

Tokenizing is up to `build`.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from service.errors import InputError
from service.prompt.conversation import Conversation
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece, timed_items

TOKEN_NAMES: Mapping[str, str] = {
    "im_start": "<|im_start|>",
    "im_end": "<|im_end|>",
    "vision_start": "<|vision_start|>",
    "vision_end": "<|vision_end|>",
    "image_pad": "<|image_pad|>",
    "video_pad": "<|video_pad|>",
    "end_of_text": "<|endoftext|>",
}
"""Fields of `SpecialTokens`, and the text of each token in the tokenizer's file."""
NEWLINE = TextPiece("\n")
"""Between two turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialTokens:
    """Ids of the template's special tokens, as the checkpoint has them."""

    im_start: int
    im_end: int
    vision_start: int
    vision_end: int
    image_pad: int
    video_pad: int
    end_of_text: int
    """The token that a Qwen3-VL-Embedding tokenizer appends, and that is pooled."""


@dataclass(frozen=True, slots=True)
class ChatML:
    """A `Profile.layout`.

    Attributes:
        tokens: of the checkpoint.
        default_instruction: the system turn of a request without an instruction; empty where there is none.
        punctuates: whether instructions are ended with punctuation; otherwise they are used as given.
        answers: the assistant's turn begins after the last.
        is_as_written: the reference itself reads parts in the order in which they were written.
    """

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    keeps_order: ClassVar[bool] = True
    """See `Profile.keeps_order`."""
    tokens: SpecialTokens
    default_instruction: str
    punctuates: bool = True
    closing: tuple[int, ...] = ()
    answers: bool = True
    is_as_written: bool = False

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """Return the pieces in order, system turn first; only the text of the last user turn is cuttable.

        Source: docs/notes/qwen3-vl-embedding.md.
        """
        is_open = conversation.continue_final_message
        asked = conversation.add_generation_prompt
        start, end = TokenPiece(self.tokens.im_start), TokenPiece(self.tokens.im_end)
        given, default = conversation.instruction or "", self.default_instruction
        if not default and given.strip():
            raise InputError("invalid_request", "The model was trained without a system message: write it in the text.")
        instruction = punctuate(given, default) if self.punctuates else given if given.strip() else default
        system = TextPiece(f"system\n{instruction}", user_start=len("system\n"))
        pieces: list[Piece] = [start, system, end, NEWLINE] if default else []
        last_user = max((i for i, turn in enumerate(conversation.turns) if turn.role == "user"), default=None)
        for i, turn in enumerate(conversation.turns):
            header, is_cuttable = turn.role + "\n", i == last_user
            run = TextPiece(header, len(header), is_cuttable)
            pieces.append(start)
            for part in turn.parts:
                if isinstance(part, str):  # one piece with the header: a leading newline merges with its own
                    run = TextPiece(run.text + part, run.user_start, is_cuttable)
                    continue
                for time, item in timed_items(part):
                    pieces += run.closed(time)
                    pieces += [TokenPiece(self.tokens.vision_start), ImagePiece(item)]
                    pieces.append(TokenPiece(self.tokens.vision_end))
                    run = TextPiece("", 0, is_cuttable)
            pieces += [run, end, NEWLINE]
        if is_open:
            del pieces[-2:]  # the last turn's end
        if self.answers and not is_open if asked is None else asked:
            pieces += [start, TextPiece("assistant\n")]
        return [*pieces, *map(TokenPiece, self.closing)]


def punctuate(instruction: str, default: str) -> str:
    """Strip an instruction and end it with punctuation; an empty one becomes the default.

    A full stop is added unless the last character's Unicode category starts with P: "Find images" becomes
    "Find images.", "find?" stays, and a trailing "+" or digit gains a full stop.

    Source: QwenLM/Qwen3-VL-Embedding at 8ce3aab, `format_model_input`.
    """
    stripped = instruction.strip()
    if not stripped:
        return default
    return stripped if unicodedata.category(stripped[-1]).startswith("P") else stripped + "."
