"""The reference as data: the OpenAPI document with every reference looked up. `read` fills it, `markdown` writes it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TypeLink:
    """A named type inside a phrase, to be written as a link."""

    name: str


Phrase = tuple[str | TypeLink, ...]
"""A type in words, such as `("list of ", TypeLink("Content"))`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of an object."""

    name: str
    type: Phrase
    bounds: str
    """Such as `1 to 2,048 entries`; empty when there are none."""
    required: bool
    """True if a request must hold it, or every answer does."""
    absent: str
    """The effect of leaving it out; empty if the description does not say."""
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedType:
    """A component of the document. Of `fields`, `values` and `forms` at most one is filled."""

    name: str
    description: str
    sent_by_clients: bool
    fields: tuple[Field, ...] = ()
    values: tuple[str, ...] = ()
    """Of an enum."""
    forms: tuple[Phrase, ...] = ()
    """The branches of a union; one for a list or a map."""
    bounds: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A body by name."""

    name: str
    summary: str
    value: Any


@dataclass(frozen=True, slots=True)
class Body:
    """A body of one media type."""

    media_type: str
    type: NamedType | None
    """None for a text or for raw bytes."""
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class OperationFailure:
    """One status that an operation can fail with."""

    status: int
    reason: str
    codes: tuple[str, ...]
    body: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[Field, ...]
    parameter_examples: dict[str, str]
    request: Body | None
    answers: tuple[Body, ...]
    """One for each media type of the success answer."""
    headers: dict[str, str]
    """Headers of answers, with what they say."""
    failures: tuple[OperationFailure, ...]


@dataclass(frozen=True, slots=True)
class OperationGroup:
    """Operations that belong together."""

    name: str
    description: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class DocumentedCode:
    """One stable error code."""

    name: str
    status: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A number that bounds requests."""

    name: str
    value: int
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceDocument:
    """The whole reference, in reading order."""

    title: str
    version: str
    description: str
    groups: tuple[OperationGroup, ...]
    types: tuple[NamedType, ...]
    codes: tuple[DocumentedCode, ...]
    limits: tuple[Limit, ...]

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Those of all groups."""
        return tuple(operation for group in self.groups for operation in group.operations)
