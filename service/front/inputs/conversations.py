"""The conversation of one input, with its images, videos, audio files and pages read. Runs in a worker thread."""

from collections.abc import Iterator

from msgspec.structs import replace

from schemas.content.file import FilePart
from schemas.content.messages import Message
from schemas.content.parts import Content, ContentPart, TextPart
from service.errors import InputError
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.opened_files import read_audio, read_page
from service.front.inputs.videos import read_video
from service.front.job import AudioPart, JobInput, PlacedMedia, VideoPart
from service.prompt.conversation import Conversation, Part, Role, Turn, in_reference_order


def read_conversation(one: JobInput, media: MediaReader, index: int) -> Conversation:
    """Return an input's instruction and turns.

    Args:
        one: an input that is not token ids.
        media: reads its media.

    Raises:
        InputError: an image, a video or an audio file is at fault, or a system message holds more than text.
    """
    source, like, places = one.source, one.options.like, iter(one.media)
    if isinstance(source, str):
        turns = [Turn("user", (source,))]
    elif isinstance(source, Content):
        turns = [_turn("user", source.content, one, places, media)]
    elif isinstance(source, PlacedMedia):
        turns = [_turn("user", [source.part], one, places, media)]
    else:
        assert isinstance(source, list)  # the reader builds token arrays without a conversation
        has_system = source[0].role == "system"
        if has_system:
            said = _instruction(source[0], one.param, index)
            if like.instruction is None or one.options.is_named:
                like = replace(like, instruction=said)
        turns = [
            _turn("assistant" if message.role == "assistant" else "user", message.content, one, places, media)
            for message in source[has_system:]
        ]
    return replace(like, turns=tuple(turns))


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
    role: Role, parts: str | list[ContentPart], one: JobInput, places: Iterator[PlacedMedia], media: MediaReader
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
        place = next(places)
        if isinstance(part, VideoPart):
            read.append(read_video(media, place))
        elif isinstance(part, AudioPart):
            read.append(read_audio(media, place))
        elif isinstance(part, FilePart):
            read.append(read_page(media, place))
        else:
            read += media.read(place)
    as_written = one.options.as_written or getattr(media.profile.layout, "is_as_written", False)
    return Turn(role, tuple(read) if as_written else in_reference_order(read))
