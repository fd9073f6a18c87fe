"""From a stream's query and its lines to requests as `/v1/embeddings` knows them, so that the vectors are the same.

In: the query string, or one line. Out: an `EmbeddingRequest` with one input, or one refusal. Knows no stream.
"""

import re
from typing import cast
from urllib.parse import parse_qsl

import msgspec

from schemas.content import Content
from schemas.decode import decode
from schemas.embeddings import EmbeddingRequest
from schemas.explain import explain
from schemas.lenient import lenient_body
from schemas.rule_error import RuleError
from schemas.rules import check_stream_line
from schemas.stream import StreamLine, StreamOptions
from schemas.structure import check_structure

MAX_OPTIONS = 64
"""Query parameters that are looked at."""

INTEGER = re.compile(r"-?[0-9]+")


def read_options(query: bytes, *, ignore_unknown: bool = False) -> StreamOptions:
    """The options of a stream.

    Args:
        query: of the request's target, as it came.
        ignore_unknown: pass over parameters that there are none of.

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
    """What the requests of all lines have in common.

    Args:
        options: of the stream.
    """
    return EmbeddingRequest(
        model=options.model,
        instruction=options.instruction,
        input_type=options.input_type,
        dimensions=options.dimensions,
        encoding_format=options.encoding_format,
        embed_dtype=options.embed_dtype,
        endianness=options.endianness,
        normalize=options.normalize,
        on_error="per_item",
        truncate_prompt_tokens=options.truncate_prompt_tokens,
        truncation_side=options.truncation_side,
        image_background=options.image_background,
    )


def read_line(raw: bytes, *, ignore_unknown: bool = False) -> StreamLine:
    """A line, right field by field.

    Args:
        raw: its bytes, without the newline.
        ignore_unknown: pass over fields that there are none of.

    Raises:
        RuleError: it is not what the schema says.
    """
    check_structure(raw)
    return decode(raw, StreamLine, ignore_unknown=ignore_unknown)


def line_request(line: StreamLine, base: EmbeddingRequest) -> EmbeddingRequest:
    """A line as the request that would give the same vector.

    Args:
        line: as it was read.
        base: what all lines have in common.

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
