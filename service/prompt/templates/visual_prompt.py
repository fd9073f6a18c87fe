r"""The template of colpali-engine's bi-encoders: an item is a page (images) or a query (a text).

`<|im_start|>user\n{media}Describe the image.<|im_end|><|endoftext|>` and `Query: {text}` followed by end tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece, timed_items
from service.prompt.templates.chatml import SpecialTokens
from service.prompt.templates.single_item import single_turn

DESCRIPTION = "Describe the image."
QUERY_PREFIX = "Query: "


@dataclass(frozen=True, slots=True)
class VisualPrompt:
    """A `Profile.layout`.

    Attributes:
        tokens: of the checkpoint.
        num_query_ends: end tokens after a text.
    """

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    keeps_order: ClassVar[bool] = True
    """See `Profile.keeps_order`."""
    tokens: SpecialTokens
    num_query_ends: int

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """A page if there is an image, else a query; only the client's text is cuttable.

        An instruction replaces the family's own words: `Query: ` before a text, `Describe the image.` after an image. A
        text beside an image replaces them too, as `context_prompts` do, and has the instruction in front.

        Raises:
            InputError: `invalid_request` for other turns.

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
