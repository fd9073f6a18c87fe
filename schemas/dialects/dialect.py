"""What the reading layer knows of a body in another server's form, and how it becomes a request of ours."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import msgspec

from schemas.base import Answer, Wire
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.rerank import RerankRequest
from schemas.errors import ErrorCode, RuleError
from schemas.parsing.explain import item_index

MAX_LOOKED_AT = 64
"""Entries of a list that are looked at to tell whose form it is."""

STRING, ARRAY, IN_ARRAY = "a string", "an array", "[]."
_SOURCES = ("input", "documents")

B = TypeVar("B", bound=Wire)
W = TypeVar("W", bound=Wire)


class Shape(NamedTuple):
    """What a body looks like, before any of it is read.

    Attributes:
        fields: its names.
        entries: of `input` or `documents`: `STRING`, `ARRAY`, and of objects their names, behind `IN_ARRAY` those of
            the first object in an array.
        is_one: an object stands there, in place of a list.
    """

    fields: frozenset[str]
    entries: frozenset[str] = frozenset()
    is_one: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect(Generic[B]):
    """The form of another server.

    Attributes:
        name: whose it is.
        about: what it has that ours has not, in a sentence.
        body: its type, which holds ours for all fields that it does not change.
        routes: types of our routes whose bodies may come in it.
        tells: True of a body that is clearly in it.
        read: makes the request of ours, of the type of the route; raises `RuleError` where a value means nothing here.
        example: a body in it.
        response: type of the answer, where it is not the route's.
    """

    name: str
    about: str
    body: type[B]
    routes: tuple[type[Wire], ...] = (EmbeddingRequest,)
    tells: Callable[[Shape], bool]
    read: Callable[[B, type[Wire]], Wire]
    example: Mapping[str, Any]
    response: type[Answer] | None = None


class OtherEmbeddingRequest(EmbeddingRequest, frozen=True, kw_only=True):
    """The fields of `/v1/embeddings` under a form that changes some of them."""

    input: Any = None
    truncate: Any = None


class OtherRerankRequest(RerankRequest, frozen=True, kw_only=True):
    """The fields of `/v1/rerank` under a form that changes some of them."""

    documents: Any


def shape_of(raw: bytes) -> Shape | None:
    """What a body looks like; None where it is no object."""
    try:
        found = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        source = next((found[name] for name in _SOURCES if name in found), msgspec.Raw(b"null"))
        is_one = _kind(source) == b"{"
        entries = [source] if is_one else _entries(source)
        names = {name for entry in entries for name in _names(entry)}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Shape(frozenset(found), frozenset(names), is_one)


def _kind(value: msgspec.Raw) -> bytes:
    return bytes(memoryview(value)[:1])


def _entries(value: msgspec.Raw) -> list[msgspec.Raw]:
    return msgspec.json.decode(value, type=list[msgspec.Raw])[:MAX_LOOKED_AT] if _kind(value) == b"[" else []


def _names(entry: msgspec.Raw) -> Iterator[str]:
    kind = _kind(entry)
    if kind == b'"':
        yield STRING
    elif kind == b"{":
        yield from msgspec.json.decode(entry, type=dict[str, msgspec.Raw])
    elif kind == b"[":
        yield ARRAY
        for inner in _entries(entry)[:1]:
            if _kind(inner) == b"{":
                yield from (IN_ARRAY + name for name in _names(inner))


def as_own(body: Wire, own: type[W], **changes: Any) -> W:
    """The request of type `own` that has the fields of `body`, but for `changes`.

    Raises:
        RuleError: a field of `body` is none of the route's.
    """
    known = own.__struct_fields__
    for name in RerankRequest.__struct_fields__ if isinstance(body, RerankRequest) else ():
        if name not in known and getattr(body, name) is not None:
            refuse(name, "this route does not have it; /v1/rerank does", "unknown_field")
    return own(**{name: getattr(body, name) for name in body.__struct_fields__ if name in known} | changes)


def refuse(param: str, message: str, code: ErrorCode = "invalid_request") -> NoReturn:
    """Refuse a value that means nothing here.

    Raises:
        RuleError: always.
    """
    raise RuleError(code, f"`{param}`: {message}", param=param, index=item_index(param))
