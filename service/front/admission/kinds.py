"""The kinds of budgets, each with what is refused is told."""

from typing import NamedTuple


class Kind(NamedTuple):
    """The kind of a budget.

    Attributes:
        name: in the table of all fronts.
        full: what is refused is told this, by what all hold, what came and the limits.
        share_is_full: the same of one tenant's.
        retry_s: when to come back; 0: when the tokens that wait are done.
    """

    name: str
    full: str
    share_is_full: str
    retry_s: float = 0.0


_HOLDS = "{held}; the limits are {most.num_inputs}, {most.num_tokens} and {most.num_bytes}"
_ANSWERS_HOLD = (
    "{held.num_bytes} bytes until they are taken, and this one would hold {more.num_bytes} more; the limit is "
    "{most.num_bytes}"
)

QUEUE = Kind("queue", f"the queue holds {_HOLDS}", f"this tenant holds {_HOLDS}")
"""Inputs and tokens until they are done, bytes of bodies and fetched media."""

ANSWERS = Kind("answers", f"answers hold {_ANSWERS_HOLD}", f"this tenant's answers hold {_ANSWERS_HOLD}", 2.0)
"""Bytes of large answers until their clients have received them. A client may read as slowly as the minimum rate, while
its vectors wait: a thousand such clients would hold gigabytes. Apart from the queue, so that slow readers never block
small answers."""
