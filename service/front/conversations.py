"""The turns of one vector's conversation: texts as they stand, pictures, videos and sounds read.

Runs in a worker thread, as pictures are read. Knows no prompt and no model.
"""

from collections.abc import Sequence

from schemas.content import Content, TextPart
from schemas.embeddings import EmbeddingRequest
from schemas.messages import Message
from service.errors import InputError
from service.front.pictures import PictureReader
from service.front.place import Place, SoundPart, VideoPart
from service.front.sounds import read_sound
from service.front.sources import Parts, Source, content_path, part_places
from service.front.videos import read_video
from service.media.picture import Picture
from service.media.video import Video
from service.prompt.conversation import Conversation, Turn
from service.prompt.token_array import TokenArray


def embed_conversation(
    instruction: str | None, pictures: PictureReader, source: Source, param: str, index: int
) -> Conversation:
    """What a source of `/v2/embed` says.

    Args:
        instruction: of the whole request.
        pictures: reads its pictures and videos.
        source: what the vector is made of.
        param: its path.
        index: its input.

    Raises:
        InputError: a picture or video is at fault.
    """
    return Conversation(instruction, (_turn(pictures, source, param, index),))


def embedding_conversation(
    request: EmbeddingRequest, named: str | None, pictures: PictureReader, source: Source, param: str, index: int
) -> Conversation:
    """The same of `/v1/embeddings`, whose `request` may have an instruction and flags of the template.

    Args:
        request: the whole of it, or a line as one.
        named: the instruction that its `input_type` names, for a source without one in its own words.
        pictures: as above, and so are the others.
        source: see there.
        param: see there.
        index: see there.

    Raises:
        InputError: a picture or video is at fault, or a system message holds one.
    """
    instruction, turns = (
        _messages(pictures, source, param, index)
        if isinstance(source, list)
        else (None, [_turn(pictures, source, param, index)])
    )
    own = instruction if request.instruction is None else request.instruction
    return Conversation(
        named if own is None else own,
        tuple(turns),
        add_generation_prompt=request.add_generation_prompt,
        continue_final_message=request.continue_final_message,
        add_special_tokens=request.add_special_tokens,
    )


def _messages(
    pictures: PictureReader, messages: list[Message], param: str, index: int
) -> tuple[str | None, list[Turn]]:
    """The instruction, if there is one, and the turns behind it."""
    has_system = messages[0].role == "system"
    instruction = _instruction(messages[0], param, index) if has_system else None
    turns = [
        Turn.of_parts(
            "assistant" if message.role == "assistant" else "user",
            _parts(pictures, message.content, f"{param}[{place}].content", index),
        )
        for place, message in enumerate(messages)
        if message.role != "system"
    ]
    return instruction, turns


def _instruction(message: Message, param: str, index: int) -> str:
    if isinstance(message.content, str):
        return message.content
    texts = [part.text for part in message.content if isinstance(part, TextPart)]
    if len(texts) != len(message.content):
        raise InputError(
            "invalid_request",
            "a system message holds the instruction: got a picture, expected text only",
            param=f"{param}[0].content",
            index=index,
        )
    return "".join(texts)


def _turn(pictures: PictureReader, source: Source, param: str, index: int) -> Turn:
    if isinstance(source, Content):
        return Turn.of_parts("user", _parts(pictures, source.content, content_path(param), index))
    assert not isinstance(source, list | TokenArray)  # `_messages` reads the one, `_build` the other
    return Turn.of_parts("user", _parts(pictures, source, param, index))


def _parts(pictures: PictureReader, parts: Parts, param: str, index: int) -> list[Picture | Video | str]:
    if isinstance(parts, str):
        return [parts]
    texts = [part.text for part in parts if isinstance(part, TextPart)] if isinstance(parts, list) else []
    media = [one for place in part_places(parts, param, index) for one in _media(pictures, place)]
    return [*media, *texts]


def _media(pictures: PictureReader, place: Place) -> Sequence[Picture | Video]:
    if isinstance(place.part, SoundPart):
        return [read_sound(pictures, place)]
    return [read_video(pictures, place)] if isinstance(place.part, VideoPart) else pictures.read(place)
