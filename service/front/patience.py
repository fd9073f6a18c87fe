"""How long an engine is trusted."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """The limits of the supervisor's trust.

    Attributes:
        load_s: how long it may take to load.
        stuck_s: least silence after which it counts as stuck.
        known_answer_s: how often it is asked the known question.
        breaker_deaths: ends within a minute that open the breaker.
        breaker_wait_s: how long the breaker stays open before one engine is tried.
    """

    load_s: float = 1800.0
    stuck_s: float = 10.0
    known_answer_s: float = 60.0
    breaker_deaths: int = 5
    breaker_wait_s: float = 30.0
