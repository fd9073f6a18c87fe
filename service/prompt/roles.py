"""The role of a text, where a model reads queries and documents differently.

In: the role's files. Out: what stands in front of a text, how long it may be, what it is filled with, and whose vectors
are not given. Knows no tokenizer: its tokens are known by their numbers.
"""

import sys
from dataclasses import dataclass

from service.outputs.plan import TokenPlan
from service.prompt.piece import TokenPiece

QUERY, DOCUMENT = "query", "document"
"""The roles by name: the instructions that `input_type` stands for. A text without either is a document, as in
sentence-transformers 6.2's `MultiVectorMask`."""


@dataclass(frozen=True, slots=True)
class QueryExpansion:
    """Tokens after a query that is shorter than so many, each of which gets a vector."""

    token_id: int = 0
    """What they are."""
    num_tokens: int = 0
    """Length that a query is brought to; 0: none is filled."""
    is_attended: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRole:
    """A query or a document of late interaction, or of a sparse encoder whose queries are weighed by a table.

    Attributes:
        prefix: text after them, tokenized together with the client's.
        max_tokens: longest prompt of this role, without what it is filled with.
        skipped_ids: tokens whose vectors are not given.
        uses_static_weights: the model does not run: each token has its own weight.
        has_ends: the tokenizer's own tokens may stand around the text.
        is_second: a marker stands after the first token of a text, where the tokenizer puts none before it.
    """

    markers: tuple[TokenPiece, ...] = ()
    prefix: str = ""
    max_tokens: int = sys.maxsize
    filling: QueryExpansion = QueryExpansion()
    skipped_ids: frozenset[int] = frozenset()
    uses_static_weights: bool = False
    has_ends: bool = True
    is_second: bool = False

    def plan(self, token_ids: list[int]) -> TokenPlan:
        """Complete a prompt for the model: filled up, and with the tokens that get no vector."""
        num_missing = max(0, self.filling.num_tokens - len(token_ids))
        if num_missing:
            token_ids = [*token_ids, *[self.filling.token_id] * num_missing]
        if self.is_second:
            token_ids = [*token_ids[1:2], *token_ids[:1], *token_ids[2:]]
        num_masked = 0 if self.filling.is_attended else num_missing
        skipped = tuple(i for i, one in enumerate(token_ids) if one in self.skipped_ids) if self.skipped_ids else ()
        return TokenPlan(token_ids, num_masked, skipped, self.uses_static_weights)


NO_ROLE = PromptRole()
"""Of the prompts of all other models."""
