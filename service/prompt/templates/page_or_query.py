r"""The template of ColQwen2, ColModernVBERT and similar models: an item is one page (an image) or one query (a text).

`<|im_start|>user\n{page}Describe the image.<|im_end|><|endoftext|>` and a prefix, `{text}` and end tokens; a newline in
transformers' form of it. ColModernVBERT's is `<|begin_of_text|>User:{page}Describe the image.<end_of_utterance>\n`
`Assistant:`, and `{text}` with ten end tokens. ColPali's is `{page}<bos>Describe the image.\n`, and `<bos>` before a
query.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.errors import InputError
from service.prompt.conversation import Conversation
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.templates.single_item import lone_medium, single_turn

REASON = "this model embeds pages, which are images, and queries, which are texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOrQuery:
    """A `Profile.layout`.

    Attributes:
        before: pieces before a page.
        after: and after it.
        query_before: pieces before a query, but for the text that it begins with.
        query_prefix: that text.
        query_after: pieces after a query.
        strips: blanks at a query's ends are dropped.
    """

    before: tuple[Piece, ...]
    after: tuple[Piece, ...]
    query_before: tuple[Piece, ...]
    query_prefix: str
    query_after: tuple[Piece, ...]
    strips: bool = False

    @classmethod
    def of_texts(
        cls, added: Mapping[str, int], page: tuple[str, str], query: tuple[str, str], *, strips: bool = False
    ) -> "PageOrQuery":
        """From what a processor writes before and after a page, and a query.

        Args:
            added: ids of the tokens that are found in texts as they stand.
        """
        split = "|".join(map(re.escape, sorted(added, key=len, reverse=True)))

        def pieces(text: str) -> tuple[Piece, ...]:
            parts = [part for part in re.split(f"({split})", text) if part]
            return tuple(TokenPiece(added[part]) if part in added else TextPiece(part) for part in parts)

        head = pieces(query[0])
        prefix = head[-1].text if head and isinstance(head[-1], TextPiece) else ""
        return cls(
            before=pieces(page[0]),
            after=pieces(page[1]),
            query_before=head[: len(head) - bool(prefix)],
            query_prefix=prefix,
            query_after=pieces(query[1]),
            strips=strips,
        )

    @property
    def is_uniform(self) -> bool:
        """See `frame_pieces`."""
        return not self.strips

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """A page if there is an image, else a query; only the client's text is cuttable.

        Source: transformers 5.23 `ColQwen2Processor`, `ColModernVBertProcessor`, `ColPaliProcessor`; colpali-engine
            0.3.18, `ColQwen2_5_Processor`, `ColPaliProcessor`, `ColIdefics3Processor`.
        """
        turn = single_turn(conversation)
        if (conversation.instruction or "").strip():
            message = "The conversation has a system message; this model was trained without instructions."
            raise InputError("invalid_request", message)
        if turn.images:
            return [*self.before, ImagePiece(lone_medium(turn, "image", REASON, "one page")), *self.after]
        words = turn.text.strip() if self.strips else turn.text
        text = TextPiece(self.query_prefix + words, user_start=len(self.query_prefix), cuttable=True)
        return [*self.query_before, text, *self.query_after]
