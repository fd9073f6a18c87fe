"""A prompt under construction: ids and placeholders so far, and which ids may be cut."""

from bisect import bisect
from dataclasses import dataclass, field, replace

from service.errors import InputError
from service.prompt.cutting import Cutting
from service.prompt.prompt import Placeholder
from service.prompt.truncation import Fixed, TokenBudget


@dataclass(slots=True)
class PromptBuffer:
    """A prompt that `PromptBuilder` fills piece by piece."""

    token_ids: list[int] = field(default_factory=list)
    placeholders: list[Placeholder] = field(default_factory=list)
    cuttable: list[range] = field(default_factory=list)
    """Token ids that truncation may remove, ascending: a run for each text."""
    truncated: bool = False

    def truncate(self, budget: TokenBudget, cutting: Cutting) -> None:
        """Cut to the budget's limit, which the prompt exceeds; later images move left.

        Raises:
            InputError: `context_length_exceeded`: nothing may be cut, or that is not enough; or what `cutting` refuses.
        """
        num_tokens, side = len(self.token_ids), budget.truncation.side
        num_excess = num_tokens - budget.limit
        try:
            removed = cutting(self.token_ids, self.cuttable, num_excess, side or "right")
        except InputError as error:
            error.param, error.index = budget.param, budget.index
            raise
        if len(removed) < num_excess:
            budget.refuse(num_tokens, self.fixed())
        if side is None:
            budget.refuse(num_tokens)
        gone = set(removed)
        self.token_ids = [token_id for place, token_id in enumerate(self.token_ids) if place not in gone]
        self.placeholders = [replace(p, offset=p.offset - bisect(removed, p.offset)) for p in self.placeholders]
        self.truncated = True

    def fixed(self) -> Fixed:
        """The tokens that are never cut."""
        num_images = sum(placeholder.length for placeholder in self.placeholders)
        return Fixed(len(self.token_ids) - sum(map(len, self.cuttable)) - num_images, num_images)
