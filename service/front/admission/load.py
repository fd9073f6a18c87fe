"""Amounts of work, and how much there may be."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Most work that may be under way at once."""

    max_inputs: int
    max_tokens: int
    max_bytes: int
    """Bytes of request bodies and fetched media in memory, and of features on their way to answers."""

    def part(self, share: float) -> "QueueLimits":
        """A fraction of each limit, at least 1."""
        return QueueLimits(*(max(1, int(most * share)) for most in (self.max_inputs, self.max_tokens, self.max_bytes)))


@dataclass(slots=True)
class Load:
    """An amount of work: of one request, of a tenant, or of all."""

    num_inputs: int = 0
    num_tokens: int = 0
    num_bytes: int = 0

    def add(self, other: "Load", sign: int = 1) -> None:
        """Add another amount, or subtract it with `sign` -1."""
        self.num_inputs += sign * other.num_inputs
        self.num_tokens += sign * other.num_tokens
        self.num_bytes += sign * other.num_bytes

    def is_nothing(self) -> bool:
        """Whether it is no work at all."""
        return not (self.num_inputs or self.num_tokens or self.num_bytes)

    def has_room(self, more: "Load", limits: QueueLimits) -> bool:
        """Whether `more` still fits; what exceeds a limit by itself fits when there is nothing else of its kind."""
        if (
            self.num_inputs + more.num_inputs <= limits.max_inputs
            and self.num_tokens + more.num_tokens <= limits.max_tokens
            and self.num_bytes + more.num_bytes <= limits.max_bytes
        ):
            return True
        if more.num_inputs:
            return self.num_inputs == 0
        if more.num_tokens:
            return self.num_tokens == 0
        return self.num_bytes == 0 or not more.num_bytes

    def is_below(self, limits: QueueLimits) -> bool:
        """Whether it is below each limit."""
        return (
            self.num_inputs < limits.max_inputs
            and self.num_tokens < limits.max_tokens
            and self.num_bytes < limits.max_bytes
        )

    def __str__(self) -> str:
        return f"{self.num_inputs} inputs, {self.num_tokens} tokens and {self.num_bytes} bytes"


ONE_MORE = Load(num_inputs=1, num_tokens=1)
"""The least load of a request."""
