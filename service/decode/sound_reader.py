"""Sounds by PyAV, the extra `audio`: what a container says, and its samples. Runs in a worker's process.

In: encoded bytes. Out: numbers, or one channel of float32 at the model's rate. Channels become one by their mean, as
librosa and soundfile's users do it (FFmpeg's own downmix is louder for some formats than for others); other rates are
resampled by FFmpeg's swresample. Encoder delay is cut off where the file says how long it is.
"""

import io
from collections.abc import Iterator

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from numpy.typing import NDArray

from service.decode.sound_length import is_cut, said_s
from service.media.sound_file import SoundFormat, SoundInfo
from service.media.sound_rule import SoundRule

MIN_RATE_HZ, MAX_RATE_HZ = 1_000, 768_000
"""Rates that files may have."""

MAX_AMPLITUDE = 1_000.0
"""Largest sample; 1 is full scale. Anything near it is damage, and powers of it are infinite."""

MAX_LACK_S = 0.1
"""How much shorter than its header says a file may be."""


class SoundError(Exception):
    """The file is damaged, has no sound, or is not what it says."""


def read_info(encoded: bytes, kind: SoundFormat, max_duration_s: float) -> SoundInfo:
    """What the container says; packets are looked at until they are too many, and none is decoded.

    Args:
        encoded: the bytes of the file.
        kind: its format.
        max_duration_s: a longer sound is refused: how long it really is then does not count.

    Raises:
        SoundError: it cannot be read.
    """
    with _open(encoded, kind) as opened:
        stream = _sound(opened)
        said = said_s(encoded, kind, opened, stream)
        duration_s = said if said > max_duration_s else _packets_s(opened, stream, max_duration_s)
        if duration_s < said - MAX_LACK_S or is_cut(encoded, kind):
            raise SoundError
        context = stream.codec_context
        return SoundInfo(rate_hz=context.sample_rate, num_channels=context.channels, duration_s=duration_s)


def read_samples(encoded: bytes, kind: SoundFormat, rule: SoundRule, max_samples: int) -> NDArray[np.float32]:
    """What a model hears of a file.

    Args:
        encoded: the bytes of the file.
        kind: its format.
        rule: rate, and how much is heard.
        max_samples: more, before the crop, are an error: the container said otherwise.

    Returns:
        float32 `[num_samples]`, at least one.

    Raises:
        SoundError: it cannot be read, or holds samples that are no numbers.
    """
    parts: list[NDArray[np.float32]] = []
    num_samples = 0
    with _open(encoded, kind) as opened:
        for part in _resampled(opened, _sound(opened), rule.rate_hz):
            num_samples += len(part)
            if num_samples > max_samples:
                raise SoundError
            parts.append(part)
    if not num_samples:
        raise SoundError
    start, num_heard = rule.crop(num_samples)
    heard = np.concatenate(parts)[start : start + num_heard]
    if not bool((np.abs(heard) <= MAX_AMPLITUDE).all()):  # nor is what is not a number
        raise SoundError
    return heard


def _open(encoded: bytes, kind: SoundFormat) -> InputContainer:
    opened = av.open(io.BytesIO(encoded), format=kind, metadata_errors="ignore")
    assert isinstance(opened, InputContainer)  # it was opened for reading
    return opened


def _sound(opened: InputContainer) -> AudioStream:
    if not opened.streams.audio:
        raise SoundError
    stream = opened.streams.audio[0]
    stream.codec_context.thread_type, stream.codec_context.thread_count = "NONE", 1
    if not MIN_RATE_HZ <= stream.codec_context.sample_rate <= MAX_RATE_HZ or stream.codec_context.channels < 1:
        raise SoundError
    return stream


def _packets_s(opened: InputContainer, stream: AudioStream, max_duration_s: float) -> float:
    """How long the packets are together; once that is too long, no more of them are read."""
    unit = float(stream.time_base or 0)
    total = 0.0
    for packet in opened.demux(stream):
        if not packet.size:  # the end
            continue
        total += (packet.duration or 0) * unit
        if total > max_duration_s:
            break
    return total


def _resampled(opened: InputContainer, stream: AudioStream, rate_hz: int) -> Iterator[NDArray[np.float32]]:
    """One channel at that rate, as it is decoded."""
    own_hz = stream.codec_context.sample_rate
    planar = AudioResampler(format="fltp")
    resampler = None if own_hz == rate_hz else AudioResampler(format="flt", layout="mono", rate=rate_hz)
    for decoded in opened.decode(stream):
        for frame in planar.resample(decoded):
            mono = np.asarray(frame.to_ndarray(), np.float32).mean(axis=0, dtype=np.float32)
            if resampler is None:
                yield mono
            else:
                yield from _flat(resampler.resample(_frame(mono, own_hz)))
    if resampler is not None:
        yield from _flat(resampler.resample(None))


def _frame(mono: NDArray[np.float32], rate_hz: int) -> AudioFrame:
    frame = AudioFrame.from_ndarray(mono[None], format="flt", layout="mono")
    frame.sample_rate = rate_hz
    return frame


def _flat(frames: list[AudioFrame]) -> Iterator[NDArray[np.float32]]:
    for frame in frames:
        yield np.asarray(frame.to_ndarray(), np.float32).reshape(-1)
