"""From a decoded request to prompts: one conversation per vector, whatever form the request took.

Runs in a worker thread: base64, hashing and tokenizing all happen here, and no pixel is decoded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from schemas.content import Content, ContentPart, ImageEmbedsPart, ImageUrlPart, TextPart
from schemas.embed import EmbedRequest, Truncate
from schemas.embeddings import EmbeddingRequest
from schemas.messages import Message, conversations
from service.errors import InputError
from service.front.embedder import Job
from service.front.served_model import ServedModel
from service.ipc.messages import OutputSpec
from service.media.header import DecodeLimits
from service.media.item import MediaItem, open_image
from service.media.source import read_source
from service.prompt.conversation import Conversation, Turn
from service.prompt.prompt import Prompt
from service.prompt.truncation import Side, Truncation

CUT_SIDES: dict[Truncate, Side | None] = {"NONE": None, "START": "left", "END": "right"}
"""Cohere's `truncate`: which end of a text goes away; None is an error instead."""


@dataclass(frozen=True, slots=True)
class InputReader:
    """Reads the inputs of a request for one model.

    Attributes:
        model: whose prompts to build.
        limits: what pictures are refused.
    """

    model: ServedModel
    limits: DecodeLimits

    def embedding_job(self, request: EmbeddingRequest, output: OutputSpec) -> Job:
        """What `/v1/embeddings` wants embedded. Its `prepare` raises InputError with the input's index and path."""
        truncation = _embedding_truncation(request, self.model.profile.max_tokens)
        read = partial(self._embedding_conversation, request)
        return self._job(_embedding_sources(request), read, truncation, output)

    def embed_job(self, request: EmbedRequest, instruction: str | None, output: OutputSpec) -> Job:
        """What `/v2/embed` wants embedded. Its `prepare` raises InputError with the input's index and path."""
        limit = request.max_tokens or self.model.profile.max_tokens
        truncation = Truncation(limit, CUT_SIDES[request.truncate or "END"])
        read = partial(self._embed_conversation, instruction)
        return self._job(_embed_sources(request), read, truncation, output)

    def _job(
        self,
        sources: "Sequence[tuple[str, Source]]",
        read: "Callable[[Source, str, int], Conversation]",
        truncation: Truncation,
        output: OutputSpec,
    ) -> Job:
        return Job(
            prepare=partial(self._build, sources, read, truncation),
            output=output,
            num_inputs=len(sources),
            has_media=_has_pictures(sources),
        )

    def _build(
        self,
        sources: "Sequence[tuple[str, Source]]",
        read: "Callable[[Source, str, int], Conversation]",
        truncation: Truncation,
    ) -> list[Prompt]:
        return [
            self.model.builder.build(read(source, param, index), truncation, param=param, index=index)
            for index, (param, source) in enumerate(sources)
        ]

    def _embed_conversation(self, instruction: str | None, source: "Source", param: str, index: int) -> Conversation:
        return Conversation(instruction, (self._turn(source, param, index),))

    def _embedding_conversation(
        self, request: EmbeddingRequest, source: "Source", param: str, index: int
    ) -> Conversation:
        if isinstance(source, list):
            conversation = self._conversation(source, param, index)
        else:
            conversation = Conversation(None, (self._turn(source, param, index),))
        return replace(
            conversation,
            instruction=conversation.instruction if request.instruction is None else request.instruction,
            add_generation_prompt=request.add_generation_prompt,
            continue_final_message=request.continue_final_message,
            add_special_tokens=request.add_special_tokens,
        )

    def _conversation(self, messages: "list[Message]", param: str, index: int) -> Conversation:
        has_system = messages[0].role == "system"
        instruction = self._instruction(messages[0], param, index) if has_system else None
        turns = [
            Turn.of_parts(
                "assistant" if message.role == "assistant" else "user",
                self._parts(message.content, f"{param}[{place}].content", index),
            )
            for place, message in enumerate(messages)
            if message.role != "system"
        ]
        return Conversation(instruction, tuple(turns))

    def _instruction(self, message: Message, param: str, index: int) -> str:
        parts = self._parts(message.content, f"{param}[0].content", index)
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) != len(parts):
            raise InputError(
                "invalid_request",
                "a system message holds the instruction: got a picture, expected text only",
                param=f"{param}[0].content",
                index=index,
            )
        return "".join(texts)

    def _turn(self, source: "Source", param: str, index: int) -> Turn:
        if isinstance(source, Content):
            return Turn.of_parts("user", self._parts(source.content, f"{param}.content", index))
        assert not isinstance(source, list)  # a conversation is read by `_conversation`
        return Turn.of_parts("user", self._parts(source, param, index))

    def _parts(
        self, content: "str | ImageUrlPart | Sequence[ContentPart]", param: str, index: int
    ) -> list[MediaItem | str]:
        if isinstance(content, str):
            return [content]
        if isinstance(content, ImageUrlPart):
            return [self._image(content, param, index)]
        return [
            part.text if isinstance(part, TextPart) else self._image(part, f"{param}[{place}].image_url", index)
            for place, part in enumerate(content)
        ]

    def _image(self, part: ImageUrlPart | ImageEmbedsPart, param: str, index: int) -> MediaItem:
        if isinstance(part, ImageEmbedsPart) or part.image_url is None:
            raise InputError("media_source_refused", "the picture has no source", param=param, index=index)
        url = part.image_url if isinstance(part.image_url, str) else part.image_url.url
        encoded = read_source(url, max_bytes=self.limits.max_encoded_bytes, param=param, index=index)
        return open_image(encoded, self.limits, self.model.profile.pixel_rule, param=param, index=index)


Source = str | Content | ImageUrlPart | list[Message]
"""What one vector is made of, as the request gives it."""


def _embedding_sources(request: EmbeddingRequest) -> list[tuple[str, Source]]:
    if isinstance(request.input, str):
        return [("input", request.input)]
    if request.input is not None:
        return [(f"input[{i}]", text) for i, text in enumerate(request.input) if isinstance(text, str)]
    if request.inputs is not None:
        return [(f"inputs[{i}]", item) for i, item in enumerate(request.inputs)]
    assert request.messages is not None  # `schemas.rules` lets no request without input through
    is_one = isinstance(request.messages[0], Message)
    return [("messages" if is_one else f"messages[{i}]", one) for i, one in enumerate(conversations(request.messages))]


def _embed_sources(request: EmbedRequest) -> list[tuple[str, Source]]:
    if request.texts is not None:
        return [(f"texts[{i}]", text) for i, text in enumerate(request.texts)]
    if request.images is not None:
        return [(f"images[{i}]", ImageUrlPart(image_url=url)) for i, url in enumerate(request.images)]
    return [(f"inputs[{i}]", item) for i, item in enumerate(request.inputs or [])]


def _embedding_truncation(request: EmbeddingRequest, max_tokens: int) -> Truncation:
    wanted = request.truncate_prompt_tokens
    if wanted is None:
        return Truncation(max_tokens)
    if wanted > max_tokens or wanted == 0:
        raise InputError(
            "invalid_request",
            f"`truncate_prompt_tokens`: got {wanted}, expected -1 or 1 to the model's {max_tokens} tokens",
            param="truncate_prompt_tokens",
        )
    return Truncation(max_tokens if wanted == -1 else wanted, request.truncation_side or "right")


def _has_pictures(sources: "Sequence[tuple[str, Source]]") -> bool:
    """Whether preparing will touch picture bytes, and so belongs to the media threads."""
    return any(_holds_picture(source) for _, source in sources)


def _holds_picture(source: "Source | Message") -> bool:
    if isinstance(source, str):
        return False
    if isinstance(source, list):
        return any(map(_holds_picture, source))
    if isinstance(source, ImageUrlPart):
        return True
    return not isinstance(source.content, str) and any(isinstance(part, ImageUrlPart) for part in source.content)
