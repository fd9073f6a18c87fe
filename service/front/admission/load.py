"""An amount of work: what budgets hold and leases take."""

from dataclasses import dataclass


@dataclass(slots=True)
class Load:
    """An amount of work: of one request, of a tenant, of all, or the most that may be under way.

    Attributes:
        num_bytes: of bodies and fetched media in memory, and of answers until they are taken.
        num_bodies: requests whose bodies are held; these have no limit of their own.
    """

    num_inputs: int = 0
    num_tokens: int = 0
    num_bytes: int = 0
    num_bodies: int = 0

    def add(self, other: "Load", sign: int = 1) -> None:
        """Add another amount, or subtract it with `sign` -1."""
        self.num_inputs += sign * other.num_inputs
        self.num_tokens += sign * other.num_tokens
        self.num_bytes += sign * other.num_bytes
        self.num_bodies += sign * other.num_bodies

    def part(self, share: float) -> "Load":
        """A fraction of each limit, at least 1."""
        return Load(*(max(1, int(most * share)) for most in (self.num_inputs, self.num_tokens, self.num_bytes)))

    def is_nothing(self) -> bool:
        """True if it is no work at all."""
        return not (self.num_inputs or self.num_tokens or self.num_bytes or self.num_bodies)

    def has_room(self, more: "Load", limits: "Load") -> bool:
        """True if `more` still fits; what exceeds a limit by itself fits when there is nothing else of its kind."""
        if (
            self.num_inputs + more.num_inputs <= limits.num_inputs
            and self.num_tokens + more.num_tokens <= limits.num_tokens
            and self.num_bytes + more.num_bytes <= limits.num_bytes
        ):
            return True
        if more.num_inputs:
            return self.num_inputs == 0
        if more.num_tokens:
            return self.num_tokens == 0
        return self.num_bytes == 0 or not more.num_bytes

    def is_below(self, limits: "Load") -> bool:
        """True if it is below each limit."""
        return (
            self.num_inputs < limits.num_inputs
            and self.num_tokens < limits.num_tokens
            and self.num_bytes < limits.num_bytes
        )

    def __str__(self) -> str:
        return f"{self.num_inputs} inputs, {self.num_tokens} tokens and {self.num_bytes} bytes"


NOTHING = Load()

ONE_MORE = Load(num_inputs=1, num_tokens=1)
"""The least load of a request."""

ONE_BODY = Load(num_bodies=1)
