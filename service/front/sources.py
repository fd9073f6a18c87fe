"""What each vector of a request is made of, and where it stands: one source per vector, whatever form the request took.

Reads decoded requests; knows no model and opens no picture.
"""

from collections.abc import Iterator, Sequence

from schemas.base import Wire
from schemas.broken_text import what_is_broken
from schemas.content import Content, ContentPart, ImageUrlPart, TextPart
from schemas.embed import EmbedRequest
from schemas.embeddings import EmbeddingRequest
from schemas.messages import Message, conversations
from schemas.token_arrays import token_arrays
from service.errors import InputError
from service.front.place import Place
from service.prompt.token_array import TokenArray

MAX_SHORT_INPUTS = 4
MAX_SHORT_CHARS = 512
"""Texts of one request whose prompts are made on the event loop: in 0.2 ms at most. A thread costs 0.1 ms to reach, and
to come back from it a switch interval of Python's global lock, should others be at work."""

Source = str | TokenArray | Content | ImageUrlPart | list[Message]
"""What one vector is made of, as the request gives it."""

Parts = str | ImageUrlPart | list[ContentPart]
"""What one turn is made of."""


def embedding_sources(request: EmbeddingRequest) -> list[tuple[str, Source]]:
    """The sources of a `/v1/embeddings` request, each with its path."""
    if isinstance(request.input, str):
        return [("input", request.input)]
    if arrays := token_arrays(request.input):
        is_one = isinstance(request.input, list) and isinstance(request.input[0], int)
        return [("input" if is_one else f"input[{i}]", TokenArray(ids)) for i, ids in enumerate(arrays)]
    if request.input is not None:
        return [(f"input[{i}]", text) for i, text in enumerate(request.input) if isinstance(text, str)]
    if request.inputs is not None:
        return [(f"inputs[{i}]", item) for i, item in enumerate(request.inputs)]
    assert request.messages is not None  # `schemas.rules` lets no request without input through
    is_one = isinstance(request.messages[0], Message)
    return [("messages" if is_one else f"messages[{i}]", one) for i, one in enumerate(conversations(request.messages))]


def embed_sources(request: EmbedRequest) -> list[tuple[str, Source]]:
    """The sources of a `/v2/embed` request, each with its path."""
    if request.texts is not None:
        return [(f"texts[{i}]", text) for i, text in enumerate(request.texts)]
    if request.images is not None:
        return [(f"images[{i}]", ImageUrlPart(image_url=url)) for i, url in enumerate(request.images)]
    return [(f"inputs[{i}]", item) for i, item in enumerate(request.inputs or [])]


def line_source(request: EmbeddingRequest) -> tuple[str, Source]:
    """The one source of a line of `/v1/embeddings/stream`, with its path in that line.

    Args:
        request: the line, as `schemas.stream_request` makes it.
    """
    if request.inputs is not None:
        return "", request.inputs[0]
    (source,) = embedding_sources(request)
    return source


def is_short(sources: Sequence[tuple[str, Source]], instruction: str | None) -> bool:
    """Whether all of it is plain text of a few words, which is tokenized sooner than a thread is reached."""
    texts = [source for _, source in sources[:MAX_SHORT_INPUTS] if isinstance(source, str)]
    num_chars = len(instruction or "") + sum(map(len, texts))
    return len(texts) == len(sources) and num_chars <= MAX_SHORT_CHARS


def places_of(source: Source, param: str, index: int) -> Iterator[Place]:
    """Every part of a source that is not text, in reading order.

    Args:
        source: what one vector is made of.
        param: its path.
        index: its input.
    """
    if isinstance(source, list):
        for i, message in enumerate(source):
            yield from part_places(message.content, f"{param}[{i}].content", index)
    elif isinstance(source, Content):
        yield from part_places(source.content, content_path(param), index)
    elif not isinstance(source, TokenArray):
        yield from part_places(source, param, index)


def check_texts(source: Source, param: str, index: int) -> None:
    """Pass where every text of a source is one: `schemas.decode` lets others through in `per_item` requests.

    Args:
        source: what one vector is made of.
        param: its path.
        index: its input.

    Raises:
        InputError: a text is not.
    """
    for path, text in _texts_of(source, param):
        if (broken := what_is_broken(text)) is not None:
            raise InputError(broken[0], f"`{path}`: {broken[1]}", param=path, index=index)


def _texts_of(source: Source, param: str) -> Iterator[tuple[str, str]]:
    if isinstance(source, str):
        yield param, source
    elif isinstance(source, Content):
        yield from _texts_of_parts(source.content, content_path(param))
    elif isinstance(source, list):
        for i, message in enumerate(source):
            yield from _texts_of_parts(message.content, f"{param}[{i}].content")


def _texts_of_parts(parts: str | list[ContentPart], param: str) -> Iterator[tuple[str, str]]:
    if isinstance(parts, str):
        yield param, parts
        return
    for i, part in enumerate(parts):
        if isinstance(part, TextPart):
            yield f"{param}[{i}].text", part.text


def num_chars(value: object) -> int:
    """Characters of all texts of sources, media in base64 too, and the ids of those that are token ids.

    Args:
        value: a source, what a source is made of, or several.
    """
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | tuple):
        return sum(map(num_chars, value))
    if isinstance(value, TokenArray):
        return len(value.token_ids)
    return sum(num_chars(getattr(value, name)) for name in value.__struct_fields__) if isinstance(value, Wire) else 0


def content_path(param: str) -> str:
    """The path of an item's content.

    Args:
        param: of the item; empty where the item is a line of its own.
    """
    return f"{param}.content".removeprefix(".")


def part_places(parts: Parts, param: str, index: int) -> Iterator[Place]:
    """The same of one turn."""
    if isinstance(parts, ImageUrlPart):
        yield Place(param, index, parts, is_bare=True)
    elif not isinstance(parts, str):
        for i, part in enumerate(parts):
            if not isinstance(part, TextPart):
                yield Place(f"{param}[{i}]", index, part)
