"""From a decoded request to prompts: one conversation per vector, whatever form the request took.

Runs in a worker thread: base64, hashing and tokenizing all happen here, and no pixel is decoded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from schemas.content import Content, ContentPart, ImageUrlPart, TextPart
from schemas.embed import EmbedRequest
from schemas.embeddings import EmbeddingRequest
from schemas.messages import Message, conversations
from service.errors import InputError
from service.front.served_model import ServedModel
from service.media.header import DecodeLimits
from service.media.item import MediaItem, open_image
from service.media.source import read_source
from service.prompt.conversation import Conversation, Turn
from service.prompt.prompt import Prompt
from service.prompt.truncation import Truncation


@dataclass(frozen=True, slots=True)
class InputReader:
    """Reads the inputs of a request for one model.

    Attributes:
        model: whose prompts to build.
        limits: what pictures are refused.
    """

    model: ServedModel
    limits: DecodeLimits

    def embedding_prompts(self, request: EmbeddingRequest) -> list[Prompt]:
        """The prompts of `/v1/embeddings`, in order.

        Raises:
            InputError: an input cannot be embedded; it carries its index and path.
        """
        read = self._embedding_conversation(request)
        truncation = _embedding_truncation(request, self.model.profile.max_tokens)
        return self._build(_embedding_sources(request), read, truncation)

    def embed_prompts(self, request: EmbedRequest, instruction: str | None) -> list[Prompt]:
        """The prompts of `/v2/embed`, in order.

        Raises:
            InputError: an input cannot be embedded; it carries its index and path.
        """
        read = lambda source, param, index: Conversation(instruction, (self._turn(source, param, index),))  # noqa: E731
        limit = request.max_tokens or self.model.profile.max_tokens
        side = {"NONE": None, "START": "left", "END": "right"}[request.truncate or "END"]
        return self._build(_embed_sources(request), read, Truncation(limit, side))  # type: ignore[arg-type]

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

    def _embedding_conversation(self, request: EmbeddingRequest) -> "Callable[[Source, str, int], Conversation]":
        def read(source: Source, param: str, index: int) -> Conversation:
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

        return read

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

    def _image(self, part: ImageUrlPart, param: str, index: int) -> MediaItem:
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
    if wanted > max_tokens:
        raise InputError(
            "invalid_request",
            f"`truncate_prompt_tokens`: got {wanted}, expected -1 or at most the model's {max_tokens} tokens",
            param="truncate_prompt_tokens",
        )
    return Truncation(max_tokens if wanted == -1 else max(1, wanted), request.truncation_side or "right")


def has_pictures(request: EmbeddingRequest | EmbedRequest) -> bool:
    """Whether preparing the request will touch picture bytes, and so belongs to the media threads."""
    if isinstance(request, EmbedRequest):
        return request.images is not None or any(map(_holds_picture, request.inputs or []))
    turns = [message for one in conversations(request.messages or []) for message in one]
    return any(map(_holds_picture, request.inputs or [])) or any(map(_holds_picture, turns))


def _holds_picture(item: Content | Message) -> bool:
    return not isinstance(item.content, str) and any(isinstance(part, ImageUrlPart) for part in item.content)
