"""The conversation of one input, with its images, videos, audio files and pages read. Runs in a worker thread."""

from collections.abc import Iterator

from schemas.content.file import FilePart
from schemas.content.messages import Message
from schemas.content.parts import Content, ContentPart, TextPart
from service.errors import InputError
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.opened_files import read_audio, read_page
from service.front.inputs.videos import read_video
from service.front.job import JobInput, PromptOptions
from service.front.placed_media import AudioPart, PlacedMedia, VideoPart
from service.prompt.conversation import Conversation, Part, Role, Turn, in_reference_order


def read_conversation(one: JobInput, media: MediaReader | None, index: int) -> Conversation:
    """Return an input's instruction and turns.

    Args:
        one: an input that is not token ids.
        media: reads its media; None where no input of the request has any.

    Raises:
        InputError: an image, a video or an audio file is at fault, or a system message holds more than text.
    """
    source = one.source
    system: str | None = None
    if isinstance(source, str):
        turns = [Turn("user", (source,))]
    elif isinstance(source, Content):
        turns = [_turn("user", source.content, one, iter(one.media), media)]
    elif isinstance(source, PlacedMedia):
        turns = [_turn("user", [source.part], one, iter(one.media), media)]
    else:
        assert isinstance(source, list)  # the reader builds token arrays without a conversation
        system, turns = _messages(source, one, media, index)
    return conversation_of(one.options, tuple(turns), system)


def conversation_of(options: PromptOptions, turns: tuple[Turn, ...] = (), system: str | None = None) -> Conversation:
    """A conversation under a request's options, whose instruction wins over a system message."""
    instruction = system if options.instruction is None else options.instruction
    return Conversation(
        options.named_instruction if instruction is None else instruction,
        turns,
        add_generation_prompt=options.add_generation_prompt,
        continue_final_message=options.continue_final_message,
        add_special_tokens=options.add_special_tokens,
    )


def _messages(
    messages: list[Message], one: JobInput, media: MediaReader | None, index: int
) -> tuple[str | None, list[Turn]]:
    """The system message's text, if there is one, and the turns after it."""
    has_system = messages[0].role == "system"
    system = _instruction(messages[0], one.param, index) if has_system else None
    places = iter(one.media)
    turns = [
        _turn("assistant" if message.role == "assistant" else "user", message.content, one, places, media)
        for message in messages[has_system:]
    ]
    return system, turns


def _instruction(message: Message, param: str, index: int) -> str:
    if isinstance(message.content, str):
        return message.content
    texts: list[str] = []
    for part in message.content:
        if not isinstance(part, TextPart):
            said = f"a system message holds the instruction: got `{part.__struct_config__.tag}`, expected text only"
            raise InputError("invalid_request", said, param=f"{param}[0].content", index=index)
        texts.append(part.text)
    return "".join(texts)


def _turn(
    role: Role,
    parts: str | list[ContentPart],
    one: JobInput,
    places: Iterator[PlacedMedia],
    media: MediaReader | None,
) -> Turn:
    """A turn of one input, its parts in the order that the request asks for.

    Takes as many `places` as it has parts that are not text.
    """
    if isinstance(parts, str):
        return Turn(role, (parts,))
    read: list[Part] = []
    for part in parts:
        if isinstance(part, TextPart):
            read.append(part.text)
            continue
        assert media is not None  # there is a reader where there are media
        place = next(places)
        if isinstance(part, VideoPart):
            read.append(read_video(media, place))
        elif isinstance(part, AudioPart):
            read.append(read_audio(media, place))
        elif isinstance(part, FilePart):
            read.append(read_page(media, place))
        else:
            read += media.read(place)
    return Turn(role, tuple(read) if one.options.as_written else in_reference_order(read))
