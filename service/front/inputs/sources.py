"""Inputs of a request as plain data: each with its path, its source, its media and how its prompt is rendered and cut.

Reads decoded requests; knows no model and opens no image.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from schemas.base import Wire
from schemas.content.messages import Message, conversations
from schemas.content.parts import Content, ContentPart, ImageUrlPart, TextPart
from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.models import LongTexts
from schemas.fields import Truncate
from schemas.parsing.rules import token_arrays
from service.errors import InputError
from service.front.job import JobInput, PlacedMedia, PromptOptions, Source
from service.prompt.token_array import TokenArray
from service.prompt.truncation import Side, Truncation

CUT_SIDES: Mapping[Truncate, Side | None] = {"NONE": None, "START": "left", "END": "right"}
"""Cohere's `truncate`: which end of a text is cut; None is an error instead."""

HOW_TO_CUT_ALL = (
    "`truncate_prompt_tokens: -1`; the server's `--truncate-long-texts end` does so for all requests that do not say"
)
"""What helps a text over the limit whose request does not say what to do with it."""

MAX_SHORT_INPUTS = 4
MAX_SHORT_CHARS = 512
"""Texts of one request whose prompts are made on the event loop: in 0.2 ms at most. A thread costs 0.1 ms to reach, and
to come back from it a switch interval of Python's global lock, should others be at work."""

MAX_GROUP_CHARS = 4096
"""Texts that are tokenized in one go: in some 3 ms, 12 for the worst there are."""


def embedding_inputs(request: EmbeddingRequest, options: PromptOptions) -> list[JobInput]:
    """The inputs of a `/v1/embeddings` request."""
    if isinstance(request.input, str):
        return [JobInput("input", request.input, (), options)]
    if arrays := token_arrays(request.input):
        is_one = isinstance(request.input, list) and isinstance(request.input[0], int)
        return [JobInput("input" if is_one else f"input[{i}]", TokenArray(ids)) for i, ids in enumerate(arrays)]
    if request.input is not None:
        texts = [text for text in request.input if isinstance(text, str)]
        return [JobInput(f"input[{i}]", text, (), options) for i, text in enumerate(texts)]
    if request.inputs is not None:
        return [parts_input(f"inputs[{i}]", item, i, options) for i, item in enumerate(request.inputs)]
    assert request.messages is not None  # `schemas.parsing.rules` lets no request without input through
    is_one = isinstance(request.messages[0], Message)
    return [
        parts_input("messages" if is_one else f"messages[{i}]", messages, i, options)
        for i, messages in enumerate(conversations(request.messages))
    ]


def embed_inputs(request: EmbedRequest, options: PromptOptions) -> list[JobInput]:
    """The inputs of a `/v2/embed` request."""
    if request.texts is not None:
        return [JobInput(f"texts[{i}]", text, (), options) for i, text in enumerate(request.texts)]
    if request.images is not None:
        parts = [ImageUrlPart(image_url=url) for url in request.images]
        places = [PlacedMedia(f"images[{i}]", f"images[{i}]", i, part) for i, part in enumerate(parts)]
        return [JobInput(place.param, place, (place,), options) for place in places]
    return [parts_input(f"inputs[{i}]", item, i, options) for i, item in enumerate(request.inputs or [])]


def line_input(line: EmbeddingRequest, index: int, options: PromptOptions) -> JobInput:
    """The one input of a line of `/v1/embeddings/stream`, with its path in that line.

    Args:
        line: as `schemas.parsing.stream_request` makes it.
        index: of the line among those of its job.
    """
    if line.inputs is not None:
        return parts_input("", line.inputs[0], index, options)
    if line.messages is not None:
        return parts_input("messages", conversations(line.messages)[0], index, options)
    return embedding_inputs(line, options)[0]


def embedding_truncation(request: EmbeddingRequest, max_tokens: int, long_texts: LongTexts) -> Truncation:
    """The truncation that a request of `/v1/embeddings` asks for.

    Args:
        request: its `truncate_prompt_tokens`, or `truncate` or `truncation`, and `truncation_side` count.
        long_texts: what it gets that has none of the first three.

    Raises:
        InputError: more tokens than the model has, or none.
    """
    if request.truncate is not None:
        return Truncation(max_tokens, CUT_SIDES[request.truncate])
    wanted = -1 if request.truncation else request.truncate_prompt_tokens
    if wanted is None and request.truncation is None:
        if long_texts == "refuse":
            return Truncation(max_tokens, how_to_cut=HOW_TO_CUT_ALL)
        wanted = -1
    if wanted is None:
        return Truncation(max_tokens)
    return Truncation(prompt_limit(wanted, max_tokens), request.truncation_side or "right")


def prompt_limit(wanted: int, max_tokens: int) -> int:
    """The longest prompt that `truncate_prompt_tokens` asks for; -1 means the model's `max_tokens`.

    Raises:
        InputError: more tokens than the model has, or none.
    """
    if wanted > max_tokens or wanted == 0:
        raise InputError(
            "invalid_request",
            f"`truncate_prompt_tokens`: got {wanted}, expected -1 or 1 to the model's {max_tokens} tokens",
            param="truncate_prompt_tokens",
        )
    return max_tokens if wanted == -1 else wanted


def parts_input(param: str, source: Content | list[Message], index: int, options: PromptOptions) -> JobInput:
    """An input made of parts, with the places of those that are not text."""
    media = [
        (f"{path}[{i}]", part)
        for path, parts in _contents(source, param)
        if not isinstance(parts, str)
        for i, part in enumerate(parts)
        if not isinstance(part, TextPart)
    ]
    places = [PlacedMedia(path, f"{path}.{part.__struct_config__.tag}", index, part) for path, part in media]
    return JobInput(param, source, tuple(places), options)


def _contents(source: Content | list[Message], param: str) -> list[tuple[str, str | list[ContentPart]]]:
    """Each content with its path; `param` is empty where an item is a line of its own."""
    if isinstance(source, Content):
        return [(f"{param}.content" if param else "content", source.content)]
    return [(f"{param}[{i}].content", message.content) for i, message in enumerate(source)]


def is_short(inputs: Sequence[JobInput]) -> bool:
    """True if all of it is plain text of a few words, which is tokenized sooner than a thread is reached."""
    if len(inputs) > MAX_SHORT_INPUTS:
        return False
    num_chars = 0
    for one in inputs:
        if not isinstance(one.source, str):
            return False
        num_chars += len(one.source) + len(one.options.like.instruction or "")
    return num_chars <= MAX_SHORT_CHARS


def groups(inputs: Sequence[JobInput], part: range) -> Iterator[range]:
    """Those of a part of the inputs, by index, that are prepared in one go: plain texts with the same options."""
    start, end = part.start, part.stop
    while start < end:
        source, options = inputs[start].source, inputs[start].options
        stop = start + 1
        if isinstance(source, str):
            num_chars = len(source)
            for one in islice(inputs, stop, end):
                if not isinstance(one.source, str) or (one.options is not options and one.options != options):
                    break
                num_chars += len(one.source)
                if num_chars > MAX_GROUP_CHARS:
                    break
                stop += 1
        yield range(start, stop)
        start = stop


def texts_of(source: Source, param: str) -> Iterator[tuple[str, str]]:
    """Each text of a source with its path."""
    if isinstance(source, str):
        yield param, source
    elif isinstance(source, Content | list):
        for path, parts in _contents(source, param):
            if isinstance(parts, str):
                yield path, parts
                continue
            for i, part in enumerate(parts):
                if isinstance(part, TextPart):
                    yield f"{path}[{i}].text", part.text


def num_chars(value: object) -> int:
    """Characters of all texts of a source or several, media in base64 too; the number of ids of a token array."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(num_chars, value))
    if isinstance(value, TokenArray):
        return len(value.token_ids)
    if isinstance(value, PlacedMedia):
        return num_chars(value.part)
    return sum(num_chars(getattr(value, name)) for name in value.__struct_fields__) if isinstance(value, Wire) else 0
