"""Turns a stream's query and lines into requests of `/v1/embeddings`, so that the vectors are the same."""

import re
from typing import cast
from urllib.parse import parse_qsl

import msgspec

from schemas.content.parts import Content
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.stream import StreamLine, StreamOptions
from schemas.errors import RuleError
from schemas.parsing.decode import decode
from schemas.parsing.explain import explain
from schemas.parsing.lenient import lenient_body
from schemas.parsing.rules import check_stream_line

MAX_OPTIONS = 64
"""Most query parameters."""

INTEGER = re.compile(r"-?[0-9]+")


def read_options(query: bytes, *, ignore_unknown: bool = False) -> StreamOptions:
    """The options of a stream; `ignore_unknown` skips unknown parameters.

    Raises:
        RuleError: `unknown_field` or `invalid_request`.
    """
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_OPTIONS)
    except ValueError:
        message = f"the query: expected at most {MAX_OPTIONS} parameters in percent-encoded UTF-8, got something else"
        raise RuleError("invalid_request", message) from None
    if len({name for name, _ in pairs}) < len(pairs):
        raise RuleError("invalid_request", "the query: expected each parameter once, got one twice")
    type_ = lenient_body(StreamOptions) if ignore_unknown else StreamOptions
    try:
        options = cast(StreamOptions, msgspec.convert(dict(pairs), type_, strict=False))
    except msgspec.ValidationError as error:
        raise explain(str(error), StreamOptions) from None
    for name, value in pairs:  # msgspec takes 1e2 and 100.0 for integers where it reads them from strings
        if type(getattr(options, name, None)) is int and not INTEGER.fullmatch(value):
            raise explain(f"Expected `int`, got `float` - at `$.{name}`", StreamOptions)
    return options


def base_request(options: StreamOptions) -> EmbeddingRequest:
    """The fields that the requests of all lines share: every option is a field of `/v1/embeddings`."""
    fields = {name: getattr(options, name) for name in StreamOptions.__struct_fields__}
    return EmbeddingRequest(**fields, on_error="per_item")


def read_line(raw: bytes, *, ignore_unknown: bool = False) -> StreamLine:
    """A line, each field checked by itself; `ignore_unknown` skips unknown fields.

    Raises:
        RuleError: it does not fit the schema.
    """
    return decode(raw, StreamLine, ignore_unknown=ignore_unknown)


def line_request(line: StreamLine, base: EmbeddingRequest) -> EmbeddingRequest:
    """The request that gives the vector of a line.

    Raises:
        RuleError: `missing_input`, `conflicting_input`, `empty_input` or `invalid_request`: a rule that joins fields.
    """
    check_stream_line(line)
    return msgspec.structs.replace(
        base,
        input=line.input,
        inputs=None if line.content is None else [Content(content=line.content)],
        messages=line.messages,
        instruction=_instruction(line, base),
        input_type=base.input_type if line.input_type is None else line.input_type,
    )


def _instruction(line: StreamLine, base: EmbeddingRequest) -> str | None:
    if line.instruction is not None:
        return line.instruction
    has_system = line.messages is not None and line.messages[0].role == "system"
    return None if has_system or line.input_type is not None else base.instruction
