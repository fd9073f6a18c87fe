"""The templates of embedders on Qwen2-VL that take one turn: colpali-engine's, jina-embeddings-v4's and VLM2Vec's."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece, timed_items
from service.prompt.templates.chatml import SpecialTokens
from service.prompt.templates.single_item import lone_medium, single_turn

DESCRIPTION = "Describe the image."
QUERY_PREFIX = "Query: "
IMAGE_INSTRUCTION = "Represent the given image."
"""VLM2Vec's instruction of an image without any text: the training data's, for candidates that are images."""


@dataclass(frozen=True, slots=True)
class VisualPrompt:
    r"""A `Profile.layout` of colpali-engine's bi-encoders: an item is a page (images) or a query (a text).

    `<|im_start|>user\n{media}Describe the image.<|im_end|><|endoftext|>` and `Query: {text}` followed by end tokens.
    """

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    keeps_order: ClassVar[bool] = True
    """See `Profile.keeps_order`."""
    tokens: SpecialTokens
    num_query_ends: int
    """End tokens after a text."""

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """A page if there is an image, else a query; only the client's text is cuttable.

        An instruction replaces the family's own words: `Query: ` before a text, `Describe the image.` after an image. A
        text beside an image replaces them too, as `context_prompts` do, and has the instruction in front.

        Source: illuin-tech/colpali, `ColQwen2_5_Processor`.
        """
        turn, given = single_turn(conversation), conversation.instruction or ""
        instruction = given if given.strip() else ""
        return self._page(turn, instruction) if turn.images else self._query(turn, instruction)

    def _page(self, turn: Turn, instruction: str) -> Sequence[Piece]:
        words = instruction or ("" if turn.text else DESCRIPTION)
        run, pieces = TextPiece("user\n"), list[Piece]([TokenPiece(self.tokens.im_start)])
        for part in turn.parts:
            if not isinstance(part, str):
                for time, item in timed_items(part):
                    pieces += run.closed(time)
                    pieces += [TokenPiece(self.tokens.vision_start), ImagePiece(item)]
                    pieces.append(TokenPiece(self.tokens.vision_end))
                    run = TextPiece("")
            elif part:
                run, words = _added(run, words, part), ""
        return [*pieces, _added(run, words, ""), TokenPiece(self.tokens.im_end), TokenPiece(self.tokens.end_of_text)]

    def _query(self, turn: Turn, instruction: str) -> Sequence[Piece]:
        prefix = instruction or QUERY_PREFIX
        text = TextPiece(prefix + turn.text, user_start=len(prefix), cuttable=True)
        return [text, *[TokenPiece(self.tokens.end_of_text)] * self.num_query_ends]


def _added(run: TextPiece, words: str, text: str) -> TextPiece:
    """A piece with words of the template and a text of the client after it."""
    start = len(run.text + words) if run.user_start is None else run.user_start
    return TextPiece(run.text + words + text, start, cuttable=True)


@dataclass(frozen=True, slots=True)
class TextOrImage:
    r"""A `Profile.layout` of jina-embeddings-v4: a text after its prefix, or one image in a turn of its own.

    `{prefix}{text}` or `<|im_start|>user\n{image}Describe the image.<|im_end|>\n`. Only the image's own tokens are
    pooled, and the decoder is causal: a text after them would change nothing, so it is refused.
    """

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    tokens: SpecialTokens
    prefixes: Sequence[str]
    """Of texts; the first is the default. Beside an image they are ignored."""

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """A text or an image; only the client's text is cuttable.

        Source: jinaai/jina-embeddings-v4, `JinaEmbeddingsV4Processor`, `get_single_vector_embeddings`.
        """
        turn, instruction = single_turn(conversation), conversation.instruction or ""
        if turn.images:
            _check_image(turn, instruction, self.prefixes)
            return self._image(turn)
        prefix = instruction if instruction.strip() else self.prefixes[0]
        return [TextPiece(prefix + turn.text, user_start=len(prefix), cuttable=True)]

    def _image(self, turn: Turn) -> Sequence[Piece]:
        tokens, image = self.tokens, ImagePiece(turn.images[0])
        before: Sequence[Piece] = [TokenPiece(tokens.im_start), TextPiece("user\n"), TokenPiece(tokens.vision_start)]
        end = TokenPiece(tokens.im_end)
        return [*before, image, TokenPiece(tokens.vision_end), TextPiece(DESCRIPTION), end, TextPiece("\n")]


def _check_image(turn: Turn, instruction: str, prefixes: Collection[str]) -> None:
    lone_medium(turn, "image", "this model pools an image by itself, and the text would change nothing")
    if instruction.strip() and instruction not in prefixes:
        reason = "it is a prefix of texts, and this model has no place for one beside an image"
        raise InputError("invalid_request", f"`instruction`, or a system message: got a text; {reason}.")


def bare_pads(conversation: Conversation) -> Sequence[Piece]:
    """`{placeholders} {instruction} {text}`, a `Profile.layout` of VLM2Vec; only the text is cuttable.

    The placeholders are its only special tokens.

    Args:
        conversation: one user turn; a missing part leaves no space behind.

    Source: TIGER-AI-Lab/VLM2Vec, `process_input_text` and `Qwen2_VL_process_fn`.
    """
    turn, instruction = single_turn(conversation), (conversation.instruction or "").strip()
    if turn.images and not instruction and not turn.text:
        instruction = IMAGE_INSTRUCTION
    pieces: list[Piece] = []
    for item in turn.images:
        pieces += [TextPiece(" ")] if pieces else []
        pieces.append(ImagePiece(item))
    blank = " " if pieces else ""
    prefix = blank + (f"{instruction} " if instruction and turn.text else instruction)
    return [*pieces, TextPiece(prefix + turn.text, user_start=len(prefix), cuttable=True)]
