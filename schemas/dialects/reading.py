"""Reads a body that the strict decode of our own form has refused, where it is in another server's form.

Whose form it is follows from its names alone (`Dialect.tells`); it is then read as strictly as ours, and what is wrong
with it is said in the words of that form.
"""

from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from schemas.base import Wire
from schemas.dialects import (
    deepinfra,
    elastic,
    jina,
    nim,
    nim_rerank,
    openrouter,
    ragflow,
    sglang,
    vllm,
    vllm_rerank,
    voyage_rerank,
)
from schemas.dialects.dialect import Dialect, shape_of
from schemas.errors import RuleError
from schemas.parsing.explain import explain, is_unknown_field
from schemas.parsing.lenient import lenient_body
from schemas.parsing.reparse import convert_without_nulls, may_hold_nulls

DIALECTS: tuple[Dialect[Any], ...] = (
    jina.DIALECT,
    sglang.DIALECT,
    openrouter.DIALECT,
    deepinfra.DIALECT,
    elastic.DIALECT,
    vllm.DIALECT,
    nim.DIALECT,
    ragflow.DIALECT,
    vllm_rerank.DIALECT,
    nim_rerank.DIALECT,
    voyage_rerank.DIALECT,
)
"""All forms; of two that a body may be in, the first one's error is said."""

W = TypeVar("W", bound=Wire)


def dialects_of(own: type[Wire] | None) -> list[Dialect[Any]]:
    """The forms in which bodies of a route may come besides its own."""
    return [one for one in DIALECTS if own in one.routes]


def read_dialect(raw: bytes, own: type[W], *, ignore_unknown: bool = False) -> W | None:
    """The request of a body in another form; None of a body in none.

    Raises:
        RuleError: it is clearly in one, and wrong there.
    """
    known = dialects_of(own)
    if not known or (shape := shape_of(raw)) is None:
        return None
    refused: RuleError | None = None
    for dialect in known:
        if not dialect.tells(shape):
            continue
        wanted = _lenient_or_strict(dialect.body, ignore_unknown=ignore_unknown)
        try:
            body = _decode(raw, wanted)
        except msgspec.ValidationError as error:
            refused = refused or _in_form(explain(str(error), dialect.body), dialect)
            continue
        return cast(W, dialect.read(body, own))
    if refused is not None:
        raise refused
    return None


def _lenient_or_strict(body: type[Wire], *, ignore_unknown: bool) -> type[Wire]:
    return lenient_body(body) if ignore_unknown else body


def _in_form(error: RuleError, dialect: Dialect[Any]) -> RuleError:
    message = f"{error.message} (the body is in the form of {dialect.name})"
    return RuleError(error.code, message, param=error.param, index=error.index)


def _decode(raw: bytes, wanted: type[Wire]) -> Wire:
    try:
        return _decoder(wanted).decode(raw)
    except msgspec.ValidationError as error:
        if not (is_unknown_field(str(error)) and may_hold_nulls(raw)):
            raise
    return convert_without_nulls(msgspec.json.decode(raw), wanted)


@cache
def _decoder(wanted: type[Wire]) -> msgspec.json.Decoder[Wire]:
    return msgspec.json.Decoder(wanted, strict=True)
