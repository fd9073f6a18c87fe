"""Messages between the front and a decoder process: typed Structs in msgpack frames, without shared memory.

A process that an image has taken over can write what it likes on its socket, and nothing else: it never sees another
image, the arena or a key, and what it says is bounded before it is read.
"""

from typing import Literal

import msgspec

from service.media.audio.audio_file import AudioContainer, AudioInfo
from service.media.container import Container
from service.media.image.header import Format
from service.media.item import AudioRule, Background
from service.media.page.page_file import PageInfo
from service.media.resize.resize import Framing
from service.media.video.video_file import VideoInfo


class DecodeTask(msgspec.Struct, frozen=True, kw_only=True):
    """One image to decode; front to worker."""

    encoded: bytes
    format: Format
    width: int
    height: int
    orientation: int
    background: Background
    size: tuple[int, int]
    """Height and width of the pixels wanted."""
    framing: Framing
    """The resize."""


class VideoTask(msgspec.Struct, frozen=True, kw_only=True):
    """A video file to read; front to worker. Without frames it is asked what the container says."""

    encoded: bytes
    """Empty for a file that is lent, or kept."""
    num_lent_bytes: int = 0
    """Size of a file that is lent: the worker asks for parts of it, by `DecodeEnd.wants`."""
    keeps: bool = False
    """Keep the file open for the next task, which may ask for other frames of it."""
    container: Container
    frames: tuple[int, ...] = ()
    """Numbers of the frames wanted, ascending, each once."""
    size: tuple[int, int] = (0, 0)
    """Height and width of the pixels wanted."""
    is_antialiased: bool = True
    """Resize as torch does it in float32, and not by Pillow."""
    max_pixels: int
    """Largest frame that is taken out of the decoder."""


class AudioTask(msgspec.Struct, frozen=True, kw_only=True):
    """An audio file to read; front to worker. Without a size of the result it is asked what the container says."""

    encoded: bytes
    format: AudioContainer
    rule: AudioRule | None = None
    """Sample rate and length wanted; beside the container's facts the samples are counted."""
    max_samples: int = 0
    """Most samples at that rate that are taken out of the decoder."""
    num_slot_bytes: int = 0
    """Size of the result."""
    max_duration_s: float = 0.0
    """No packet beyond is looked at, where the container is asked."""


class PageTask(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a PDF; front to worker. Without a size to render at it is asked how large it is, and for its text."""

    encoded: bytes
    """Empty for the file that is kept."""
    keeps: bool = False
    """Keep the file for the next task, which may ask for another page of it."""
    page: int
    """Counted from 1; 0 asks for the number of pages alone."""
    num_text_bytes: int = 0
    """Size of the text layer wanted, in UTF-8, cut or filled up with NUL; a page has it only if it is not rendered."""
    scale: float = 0.0
    """Pixels per point."""
    raster_size: tuple[int, int] = (0, 0)
    """Height and width at that scale."""
    size: tuple[int, int] = (0, 0)
    """Height and width of the pixels wanted."""
    framing: Framing = Framing(())
    """The resize."""


DocumentForm = Literal["text", "markdown", "html", "docx"]
"""How a document is written."""


class DocumentTask(msgspec.Struct, frozen=True, kw_only=True):
    """A document to read; front to worker. It is answered by a `DocumentHead`; a task without a file gets the text."""

    encoded: bytes
    """Empty for the file of the last task."""
    form: DocumentForm = "text"


class DocumentText(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a document; worker to front, in msgpack."""

    text: str
    headings: list[tuple[int, int, str]]
    """Of each, where it begins in the text, in characters, its level from 1, and its words."""


class DocumentHead(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be had of a document; worker to front, in `HEAD_BYTES` bytes of msgpack, filled up with NUL."""

    num_bytes: int
    """Of its text and headings; 0 where it is not read."""
    reason: str = ""
    """Why it is not read."""

    @classmethod
    def packed(cls, num_bytes: int, reason: str) -> bytes:
        """A head as it is sent."""
        return msgspec.msgpack.encode(cls(num_bytes=num_bytes, reason=reason[: HEAD_BYTES // 8])).ljust(
            HEAD_BYTES, b"\0"
        )

    @classmethod
    def unpacked(cls, sent: bytes) -> "DocumentHead":
        """A head that was sent.

        Raises:
            msgspec.MsgspecError: it is none.
        """
        return msgspec.msgpack.decode(sent.rstrip(b"\0"), type=cls)


HEAD_BYTES = 1024
"""Of a `DocumentHead`."""


class DecodeEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a task; worker to front. The first one, with `num_bytes` 0, says that the worker is ready."""

    num_bytes: int
    """Bytes of pixels, samples or text that follow this frame; 0 when there are none: the file cannot be decoded."""
    video: VideoInfo | None = None
    """Facts of a video's container; None where it is unreadable, or was not asked for."""
    audio: AudioInfo | None = None
    """Likewise for audio."""
    page: PageInfo | None = None
    """Likewise for a page of a PDF."""
    wants: tuple[int, int] = (0, 0)
    """Start and length of the part of the lent file that the worker waits for; the task has ended where that is 0."""
    num_stderr_bytes: int = 0
    """Bytes that codecs wrote to stderr meanwhile; they are counted only."""


MAX_LENT_BYTES = 1 << 20
"""Longest part of a lent file that is sent at once."""
MAX_END_BYTES = 256
"""Longest frame that is taken from a worker."""
