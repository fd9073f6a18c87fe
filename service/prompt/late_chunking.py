"""Late chunking: the chunks of one text as few prompts, in which each chunk's vector is the mean of its own tokens.

Chunks are tokenized one by one, so that no token crosses a border. What the model wants around a text stands once
around a window: as many chunks as fit together. A later window begins with the last tokens before it, as context.

Source: Günther et al. 2024 (arXiv 2409.04701); jina-ai/late-chunking at db558c3, `_extend_special_tokens` and
`_embed_with_overlap`.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise, takewhile
from typing import NamedTuple

from service.errors import InputError
from service.outputs.plan import TokenPlan
from service.prompt.plain_texts import TextFrame
from service.prompt.prompt import Prompt
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Fixed, TokenBudget, Truncation

CONTEXT_TOKENS = 256
"""Most tokens that a later window repeats of what stands before it; at most half of a window's room, too."""

NO_TOKENS = "has no tokens, and beside others the vector of a chunk is the mean of its own; leave it out"


class Window(NamedTuple):
    """Chunks that go through the model together.

    Attributes:
        first: the first of them.
        stop: after the last.
        num_context: tokens before the first that stand in front.
    """

    first: int
    stop: int
    num_context: int


def plan_windows(lengths: Sequence[int], room: int) -> list[Window]:
    """Each chunk in one window, as many together as fit.

    Args:
        lengths: tokens of each chunk, none above `room`.
        room: tokens of a window, without those around the text.
    """
    windows: list[Window] = []
    first = num_before = 0
    while first < len(lengths):
        num_context = min(CONTEXT_TOKENS, room // 2, room - lengths[first], num_before)
        num_tokens, stop = num_context, first
        while stop < len(lengths) and num_tokens + lengths[stop] <= room:
            num_tokens += lengths[stop]
            stop += 1
        windows.append(Window(first, stop, num_context))
        num_before += num_tokens - num_context
        first = stop
    return windows


class LateChunks:
    """The chunks of one text, as far as they are tokenized. `PromptBuilder.late_chunks` makes it."""

    def __init__(
        self,
        frame: TextFrame,
        tokenizer: PromptTokenizer,
        truncation: Truncation,
        model_limit: int,
        params: Sequence[str],
        check_special: Callable[[Sequence[int], TokenBudget], None],
        is_strict: bool,
    ) -> None:
        """Take no chunk yet.

        Args:
            frame: what stands around a text.
            truncation: of a window; what a chunk has beyond it by itself is cut, or refused.
            params: the path of each chunk.
            check_special: refuses tokens of a chunk where `is_strict`.
            is_strict: special tokens are read as such, and not as characters.
        """
        self._frame = frame
        self._tokenizer = tokenizer
        self._truncation = truncation
        self._limit = min(truncation.max_tokens, model_limit)
        self._model_limit = model_limit
        self._params = params
        self._check_special = check_special
        self._is_strict = is_strict
        self._num_around = len(frame.before) + len(frame.after)
        self._header: list[int] = []
        self._chunks: list[list[int]] = []
        self._truncated: list[bool] = []

    def add(self, texts: Sequence[str]) -> None:
        """Tokenize the next chunks together: some thousand characters, or one.

        Raises:
            InputError: `context_length_exceeded`, `empty_input`, or what `check_special` refuses; with the path.
        """
        texts = [self._within_reach(text, len(self._chunks) + place) for place, text in enumerate(texts)]
        if not self._chunks:
            self._add_first(texts[0])
            texts = texts[1:]
        for token_ids in self._encode(texts):
            self._take([*self._header, *token_ids], len(self._header))

    def prompts(self) -> list[Prompt]:
        """The windows, once all chunks are there.

        The first chunk of all takes what stands before it into its mean, and the last what follows it, so that a
        lone chunk has the vector of an ordinary text.
        """
        before, after = [*self._frame.before, *self._header], self._frame.after
        token_ids = [one for chunk in self._chunks for one in chunk]
        starts = [0, *accumulate(map(len, self._chunks))]
        prompts: list[Prompt] = []
        for first, stop, num_context in plan_windows(list(map(len, self._chunks)), self._room):
            begin = starts[first] - num_context
            whole = [*before, *token_ids[begin : starts[stop]], *after]
            places = [len(before) + start - begin for start in starts[first : stop + 1]]
            places[0] = 0 if first == 0 else places[0]
            places[-1] = len(whole) if stop == len(self._chunks) else places[-1]
            own = zip(self._chunks[first:stop], self._truncated[first:stop], strict=True)
            chunks = tuple(Prompt(TokenPlan(chunk), (), truncated) for chunk, truncated in own)
            spans = () if places == [0, len(whole)] else tuple(pairwise(places))  # a lone chunk is an ordinary text
            prompts.append(Prompt(TokenPlan(whole, spans=spans), (), any(self._truncated[first:stop]), chunks))
        return prompts

    @property
    def _room(self) -> int:
        return self._limit - self._num_around - len(self._header)

    def _add_first(self, text: str) -> None:
        """The first chunk is read together with what the template puts in front of a text, as an ordinary one is."""
        header = self._frame.header
        whole = header + text
        token_ids, own = self._tokenizer.encode_between(whole, len(header), len(whole), parse_special=self._is_strict)
        (alone,) = self._encode([header])
        same = takewhile(lambda pair: pair[0] == pair[1], zip(alone, token_ids, strict=False))
        self._header = [one for one, _ in same]  # a last blank of it may be part of the text's first token
        self._take(token_ids, own.start)

    def _take(self, token_ids: list[int], num_fixed: int) -> None:
        """Cut a chunk, which has the header in front, to what fits by itself."""
        budget = self._budget(len(self._chunks))
        if self._is_strict:
            self._check_special(token_ids, budget)
        num_excess = self._num_around + len(token_ids) - self._limit
        if num_excess > 0:
            self._refuse_excess(num_excess, len(token_ids), num_fixed, budget)
            kept, text = token_ids[:num_fixed], token_ids[num_fixed:]
            text = text[:-num_excess] if self._truncation.side == "right" else text[num_excess:]
            token_ids = [*kept, *text]
        own = token_ids[len(self._header) :]
        if not own and (len(self._params) > 1 or not self._num_around + len(self._header)):
            raise InputError("empty_input", f"`{budget.param}`: {NO_TOKENS}", param=budget.param, index=budget.index)
        self._chunks.append(own)
        self._truncated.append(num_excess > 0)

    def _refuse_excess(self, num_excess: int, num_tokens: int, num_fixed: int, budget: TokenBudget) -> None:
        """Raise where a chunk is too long and may not be cut, or where nothing would be left of it beside others."""
        num_whole, num_least = self._num_around + num_tokens, int(len(self._params) > 1)
        if self._truncation.side is None:
            budget.refuse(num_whole)
        if num_excess > num_tokens - num_fixed - num_least:
            budget.refuse(num_whole, Fixed(self._num_around + num_fixed + num_least, 0))

    def _within_reach(self, text: str, index: int) -> str:
        """A chunk as far as so many tokens can reach; refused by its length where that is hopeless."""
        side, bound, limit = self._truncation.side, self._tokenizer.bound, self._limit
        kept = self._frame.header + ("" if side else text)
        budget = self._budget(index)
        if (num_least := bound.least_tokens(kept, limit + 1)) > limit:
            budget.refuse(num_least, is_least=True)
        if len(kept) > (max_chars := bound.max_chars(limit)):
            budget.refuse_chars(len(kept), max_chars)
        return bound.clip(text, limit, side) if side else text

    def _budget(self, index: int) -> TokenBudget:
        return TokenBudget(self._truncation, self._limit, self._model_limit, self._params[index], index)

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        if not self._is_strict:
            return self._tokenizer.encode_each(texts)
        return [self._tokenizer.encode(text, parse_special=True).ids for text in texts]
