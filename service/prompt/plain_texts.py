"""Prompts of plain texts, each a single user turn, that have one frame of template in common and are made together.

In: texts, and a conversation without turns. Out: what `PromptBuilder.build` makes of each, at a fraction of its cost:
of layouts that put the same around any text the frame's tokens are made once, and each text costs its own tokens alone.
"""

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import Piece, TextPiece
from service.prompt.profile.profile import Profile
from service.prompt.prompt import Prompt
from service.prompt.roles import PromptRole
from service.prompt.tokenizer.text_bound import MedianBound, most_tokens
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation

NUM_REPEATED = 512
MAX_REPEATED_CHARS = 2048
"""Number of texts beside the input itself whose tokens are kept, and their longest: each input repeats them."""

PROBE = "probe"


class TextFrame(NamedTuple):
    """The tokens around a text.

    Attributes:
        before: those in front of it, the tokenizer's head included.
        header: the template's words that are tokenized together with the text.
        after: those after it, the tokenizer's tail included.
        header_ids: the header's own tokens in front of any text that does not begin with white space; empty where they
            depend on the text.
        num_tokens: those that are known: before and after.
        max_tokens: longest prompt.
        role: of the text.
    """

    before: list[int]
    header: str
    after: list[int]
    header_ids: list[int]
    num_tokens: int
    max_tokens: int
    role: PromptRole


class FramePieces(NamedTuple):
    """A layout's pieces around a text, as in `TextFrame`."""

    before: Sequence[Piece]
    header: str
    after: Sequence[Piece]


def frame_pieces(layout: Callable[[Conversation], Sequence[Piece]], like: Conversation) -> FramePieces | None:
    """Return the pieces of a layout around a text; None where they depend on the text, or an error has to be raised.

    A layout says by `is_uniform` that, whatever the text of a user's only turn, one piece is a header and the text, and
    all others are the same.

    Args:
        layout: of a profile.
        like: a conversation without turns: instruction and flags.
    """
    if not getattr(layout, "is_uniform", False):
        return None
    try:
        pieces = layout(replace(like, turns=(Turn("user", (PROBE,)),)))
    except InputError:
        return None
    (place,) = [i for i, piece in enumerate(pieces) if isinstance(piece, TextPiece) and piece.cuttable]
    text = pieces[place]
    assert isinstance(text, TextPiece)
    assert text.user_start is not None  # it is cuttable
    return FramePieces(pieces[:place], text.text[: text.user_start], pieces[place + 1 :])


class PlainTexts:
    """Prompts of plain texts for one model. Any number of threads may share it: all it keeps are frames.

    Args:
        make_frame: the tokens around each text; None where they depend on it.
        is_strict: special tokens in a text count, so each text has to be looked at by itself.
    """

    def __init__(
        self,
        profile: Profile,
        tokenizer: PromptTokenizer,
        make_frame: Callable[[Conversation], TextFrame | None],
        *,
        is_strict: bool,
    ) -> None:
        self._profile = profile
        self._tokenizer = tokenizer
        self._kept_frame = lru_cache(NUM_REPEATED)(make_frame)
        self._is_strict = is_strict
        self._pad_ids = frozenset(profile.pads.values())

    def build(self, texts: Sequence[str], like: Conversation, truncation: Truncation) -> list[Prompt | None]:
        """Tokenize texts together.

        Args:
            texts: some thousand characters in all, since they are tokenized in one go.
            like: instruction and flags of all of them; without turns.
            truncation: of each.

        Returns:
            The prompt of each text; None where `PromptBuilder.build` has to be asked: it raises an error, or is about
            to cut more than the text's own tokens.
        """
        if (frame := self._frame(like)) is None:
            return [None] * len(texts)
        limit, cut = min(truncation.max_tokens, frame.max_tokens), truncation.side
        if cut is not None:
            texts = [self._tokenizer.bound.clip(text, limit, cut) for text in texts]
        header, header_ids = frame.header, frame.header_ids
        joins = [not header_ids or text[:1].isspace() for text in texts]  # tokenized together with the header
        found = self._tokenizer.encode_each(
            [header + text if joined else text for text, joined in zip(texts, joins, strict=True)]
        )
        num_left, can_cut = limit - frame.num_tokens, cut is not None and not frame.header
        unread_id, bound = self._tokenizer.unread_id, self._tokenizer.bound
        max_chars = bound.max_chars(limit) if isinstance(bound, MedianBound) else sys.maxsize
        prompts: list[Prompt | None] = []
        padding = self._profile.padding
        for text, token_ids, joined in zip(texts, found, joins, strict=True):
            token_ids = token_ids if joined else header_ids + token_ids
            num_excess = len(token_ids) - num_left
            is_over = len(text) > max_chars or (num_excess > 0 and not (can_cut and num_left >= 0))
            if is_over or not self._pad_ids.isdisjoint(token_ids):
                prompts.append(None)
                continue
            if num_excess > 0:
                token_ids = token_ids[:num_left] if cut == "right" else token_ids[num_excess:]
            if unread_id >= 0:
                token_ids = [one for one in token_ids if one != unread_id]
            whole = [*frame.before, *token_ids, *frame.after]
            if padding.num_tokens:
                whole = padding.fill(whole)
            prompts.append(Prompt(frame.role.plan(whole), (), num_excess > 0) if whole else None)
        return prompts

    def are_accepted(self, texts: Sequence[str], like: Conversation, truncation: Truncation) -> bool:
        """True if `build` makes a prompt of each text, known before any is tokenized: False where one may be refused.

        Args:
            texts: any number.
            like: as for `build`.
            truncation: of each.
        """
        if (frame := self._frame(like)) is None:
            return False
        if not frame.num_tokens:  # a prompt has a token at least, and a text may have none
            return False
        num_left = min(truncation.max_tokens, frame.max_tokens) - frame.num_tokens - most_tokens([frame.header])
        return num_left >= (0 if truncation.side is not None else most_tokens(texts))

    def _frame(self, like: Conversation) -> TextFrame | None:
        return None if self._is_strict or len(like.instruction or "") > MAX_REPEATED_CHARS else self._kept_frame(like)
