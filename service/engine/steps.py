"""What the scheduler has decided to do next. Data only; plain Python."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from service.engine.waiting import Encode, Waiting

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LanguageStep(Generic[T]):
    """Requests to run through the language model together."""

    batch: list[Waiting[T]]


@dataclass(frozen=True, slots=True)
class FeaturesStep(Generic[T]):
    """A request whose answer are features that are there."""

    waiting: Waiting[T]


@dataclass(frozen=True, slots=True)
class EncodeStep(Generic[T]):
    """Pictures whose features to make, each by itself: by the vision tower, or out of what was sent."""

    encodes: list[Encode[T]]
