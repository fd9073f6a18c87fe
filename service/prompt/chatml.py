r"""ChatML as Qwen's vision-language models were trained on it: a conversation as text, special tokens and pictures.

`<|im_start|>system\n{instruction}<|im_end|>\n<|im_start|>user\n{media}{text}<|im_end|>\n<|im_start|>assistant\n`

Reads no file and tokenizes nothing (`build` does).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.media.picture import Picture
from service.prompt.conversation import Conversation, Turn
from service.prompt.instruction import punctuate
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialTokens:
    """Ids of the tokens that build a prompt. Always read from the checkpoint."""

    im_start: int
    im_end: int
    vision_start: int
    vision_end: int
    image_pad: int
    video_pad: int
    end_of_text: int
    """What a Qwen3-VL-Embedding tokenizer appends, and so the token that is pooled."""


@dataclass(frozen=True, slots=True)
class ChatML:
    """A `Profile.layout`.

    Attributes:
        tokens: of the checkpoint.
        default_instruction: the system turn of a request that gives none.
        punctuates: end instructions with punctuation; else they stand as they are.
        closing: special tokens behind the last turn.
    """

    tokens: SpecialTokens
    default_instruction: str
    punctuates: bool = True
    closing: tuple[int, ...] = ()

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """The pieces in order, system turn first; only the text of the last user turn is cuttable.

        Args:
            conversation: with at least one turn.

        Source: reference/qwen3-vl-embedding.md section 2.3.
        """
        is_open = conversation.continue_final_message or False
        asked = conversation.add_generation_prompt
        system = "system\n" + self._instruction(conversation.instruction)
        pieces = list(self._enclose([TextPiece(system, user_start=len("system\n"))]))
        last_user = max((i for i, turn in enumerate(conversation.turns) if turn.role == "user"), default=None)
        for i, turn in enumerate(conversation.turns):
            body = self._body(turn, is_cuttable=i == last_user)
            pieces += self._enclose(body, is_open=is_open and i == len(conversation.turns) - 1)
        if not is_open if asked is None else asked:
            pieces += [TokenPiece(self.tokens.im_start), TextPiece("assistant\n")]
        return [*pieces, *map(TokenPiece, self.closing)]

    def _instruction(self, given: str | None) -> str:
        if self.punctuates:
            return punctuate(given, self.default_instruction)
        return given if given and not given.isspace() else self.default_instruction

    def _enclose(self, body: Sequence[Piece], *, is_open: bool = False) -> Iterator[Piece]:
        yield TokenPiece(self.tokens.im_start)
        yield from body
        if not is_open:
            yield TokenPiece(self.tokens.im_end)
            yield TextPiece("\n")

    def _body(self, turn: Turn, *, is_cuttable: bool) -> Sequence[Piece]:
        header = turn.role + "\n"
        if not turn.images and not turn.videos:  # one text: the client's first newline merges with the header's
            return [TextPiece(header + turn.text, user_start=len(header), cuttable=is_cuttable)]
        pieces: list[Piece] = []
        for text, item in _media(header, turn):
            pieces += [TextPiece(text)] if text else []
            pieces += [TokenPiece(self.tokens.vision_start), ImagePiece(item), TokenPiece(self.tokens.vision_end)]
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
