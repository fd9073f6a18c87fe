"""A prompt while it is put together: ids so far, pictures so far, and which run of ids may be cut.

Lives inside one call of `build`. Knows no tokenizer and no limits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from service.media.picture import Picture
from service.prompt.prompt import Placeholder, Prompt
from service.prompt.truncation import Side


@dataclass(slots=True)
class Draft:
    """Grows to the right, is cut at most once, and becomes a `Prompt`."""

    token_ids: list[int] = field(default_factory=list)
    placeholders: list[Placeholder] = field(default_factory=list)
    cuttable: range = range(0)
    """Which token ids truncation may remove."""
    truncated: bool = False

    def add_image(self, item: Picture, pad_id: int) -> None:
        """Append one picture's run of placeholder tokens."""
        length = item.num_tokens
        self.placeholders.append(Placeholder(len(self.token_ids), length, item.grid_thw, item))
        self.token_ids += [pad_id] * length

    def add_cuttable(self, token_ids: Sequence[int], num_header_tokens: int) -> None:
        """Append a text whose tokens after the header may be cut."""
        start = len(self.token_ids)
        self.token_ids += token_ids
        self.cuttable = range(start + num_header_tokens, len(self.token_ids))

    def cut(self, num_tokens: int, side: Side) -> None:
        """Remove so many tokens from one end of the cuttable run; later pictures move left."""
        start = self.cuttable.stop - num_tokens if side == "right" else self.cuttable.start
        del self.token_ids[start : start + num_tokens]
        self.placeholders = [
            replace(p, offset=p.offset - num_tokens) if p.offset >= self.cuttable.stop else p for p in self.placeholders
        ]
        self.truncated = True

    def finish(self) -> Prompt:
        """Freeze the draft."""
        num_visual = sum(placeholder.length for placeholder in self.placeholders)
        num_text = len(self.token_ids) - num_visual
        return Prompt(self.token_ids, tuple(self.placeholders), num_text, self.truncated)
