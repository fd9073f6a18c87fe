"""Prompts of plain texts, each a single user turn, that have one frame of template in common and are made together.

In: texts, and a conversation without turns. Out: what `PromptBuilder.build` makes of each, at a fraction of its cost.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from service.prompt.conversation import Conversation
from service.prompt.profile.profile import Profile
from service.prompt.prompt import Prompt
from service.prompt.text_frame import TextFrame
from service.prompt.text_side import TextSide, sided
from service.prompt.tokenizer.text_bound import most_tokens
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation

NUM_REPEATED = 512
MAX_REPEATED_CHARS = 2048
"""How many texts beside the input itself have their tokens kept, and how long they may be: each input repeats them."""


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
        side = self._profile.side(like)
        limit, cut = self._limit(truncation, side), truncation.side
        if cut is not None:
            texts = [self._tokenizer.bound.clip(text, limit, cut) for text in texts]
        found = self._encode(frame, texts)
        num_left, can_cut = limit - frame.num_tokens, cut is not None and not frame.header
        prompts: list[Prompt | None] = []
        for token_ids in found:
            num_excess = len(token_ids) - num_left
            if not self._pad_ids.isdisjoint(token_ids) or (num_excess > 0 and not (can_cut and num_left >= 0)):
                prompts.append(None)
                continue
            if num_excess > 0:
                token_ids = token_ids[:num_left] if cut == "right" else token_ids[num_excess:]
            prompts.append(self._prompt([*frame.before, *token_ids, *frame.after], num_excess > 0, side))
        return prompts

    def are_accepted(self, texts: Sequence[str], like: Conversation, truncation: Truncation) -> bool:
        """Whether `build` makes a prompt of each text, known before any is tokenized: False where one may be refused.

        Args:
            texts: any number.
            like: as for `build`.
            truncation: of each.
        """
        if (frame := self._frame(like)) is None:
            return False
        if not frame.num_tokens:  # a prompt has a token at least, and a text may have none
            return False
        num_left = self._limit(truncation, self._profile.side(like)) - frame.num_tokens - most_tokens([frame.header])
        return num_left >= (0 if truncation.side is not None else most_tokens(texts))

    def _encode(self, frame: TextFrame, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text with its header."""
        header, header_ids = frame.header, frame.header_ids
        if not header:
            return self._tokenizer.encode_each(texts)
        if header_ids is None:
            return self._tokenizer.encode_each([header + text for text in texts])
        joins = [text[:1].isspace() for text in texts]
        found = self._tokenizer.encode_each(
            [header + text if joined else text for text, joined in zip(texts, joins, strict=True)]
        )
        return [ids if joined else header_ids + ids for ids, joined in zip(found, joins, strict=True)]

    def _frame(self, like: Conversation) -> TextFrame | None:
        return None if self._is_strict or len(like.instruction or "") > MAX_REPEATED_CHARS else self._kept_frame(like)

    def _limit(self, truncation: Truncation, side: TextSide | None) -> int:
        limit = min(truncation.max_tokens, self._profile.max_tokens)
        return limit if side is None else min(limit, side.max_tokens)

    def _prompt(self, token_ids: list[int], truncated: bool, side: TextSide | None) -> Prompt | None:
        if self._profile.padding is not None:
            token_ids = self._profile.padding.fill(token_ids)
        if not token_ids:
            return None
        return sided(Prompt(token_ids, (), truncated), side)
