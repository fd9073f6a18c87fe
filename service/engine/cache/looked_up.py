"""What the threads of the shared tiers say to the engine's loop: a message of the engine's own, beside the front's."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LookedUp(Generic[T]):
    """A look-up is over.

    Attributes:
        key: content key of the picture.
        features: on the device; None where no shared tier has them.
    """

    key: bytes
    features: T | None
