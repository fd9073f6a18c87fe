"""How a model of texts reads one side, where it has two: its queries, or its documents.

In: the side's files. Out: what stands in front of a text, how long it may be, what it is filled with, and whose vectors
are not given. Knows no tokenizer: its tokens are known by their numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from service.prompt.piece import TokenPiece
from service.prompt.prompt import Prompt

QUERY, DOCUMENT = "query", "document"
"""The sides by name: the instructions that `input_type` stands for. A text without either is a document, as in
sentence-transformers 6.2's `MultiVectorMask`."""


class SidedTokens(NamedTuple):
    """The tokens of one query or document.

    Attributes:
        token_ids: those of the prompt, and behind them those that it is filled with.
        num_hidden: how many at the end no token attends to, not even they themselves.
        dropped: places of tokens whose vectors are not given, ascending.
    """

    token_ids: list[int]
    num_hidden: int
    dropped: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Filling:
    """Tokens behind a query that is shorter than so many, each of which gets a vector.

    Attributes:
        token_id: what they are.
        num_tokens: length that a query is brought to.
        is_attended: whether tokens attend to them.
    """

    token_id: int
    num_tokens: int
    is_attended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSide:
    """One side of late interaction, or of a sparse encoder whose queries are weighed by a table.

    Attributes:
        markers: special tokens in front of the text.
        prefix: text behind them, tokenized together with the client's.
        max_tokens: longest prompt of this side, without what it is filled with.
        filling: None: none.
        dropped_ids: tokens whose vectors are not given.
        is_looked_up: the model does not run: each token has its own weight, and none stand around the text.
    """

    markers: tuple[TokenPiece, ...] = ()
    prefix: str = ""
    max_tokens: int
    filling: Filling | None = None
    dropped_ids: frozenset[int] = frozenset()
    is_looked_up: bool = False

    def complete(self, token_ids: Sequence[int]) -> SidedTokens:
        """What the model is given of a prompt: filled up, and with the places whose vectors are dropped."""
        num_missing = max(0, self.filling.num_tokens - len(token_ids)) if self.filling else 0
        whole = [*token_ids, *([self.filling.token_id] * num_missing if self.filling else ())]
        is_hidden = self.filling is not None and not self.filling.is_attended
        dropped = tuple(i for i, one in enumerate(whole) if one in self.dropped_ids) if self.dropped_ids else ()
        return SidedTokens(whole, num_missing if is_hidden else 0, dropped)


def sided(prompt: Prompt, side: TextSide | None) -> Prompt:
    """What its side makes of a prompt; the same where there is none."""
    if side is None:
        return prompt
    whole = side.complete(prompt.token_ids)
    return msgspec.structs.replace(
        prompt,
        token_ids=whole.token_ids,
        num_hidden=whole.num_hidden,
        dropped=whole.dropped,
        is_looked_up=side.is_looked_up,
    )
