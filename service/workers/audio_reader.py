"""Audio files by PyAV, the extra `audio`: what a container says, and its samples. Runs in a worker's process.

In: encoded bytes. Out: numbers, or one channel of float32 at the model's rate. Channels become one by their mean, as
librosa and soundfile's users do it (FFmpeg's own downmix is louder for some formats than for others); other rates are
resampled by FFmpeg's swresample. Encoder delay is cut off where the file says how long it is.
"""

from collections.abc import Iterator

import numpy as np
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from numpy.typing import NDArray

from service.media.audio.audio_file import AudioContainer, AudioInfo
from service.media.item import AudioRule
from service.workers.container_reader import UnreadableFileError, ends_inside, open_container

MIN_RATE_HZ, MAX_RATE_HZ = 1_000, 768_000
"""Rates that files may have."""

MAX_AMPLITUDE = 1_000.0
"""Largest sample; 1 is full scale. Anything near it is damage, and powers of it are infinite."""

MAX_LACK_S = 0.1
"""Most seconds by which a file may be shorter than its header says."""


UNKNOWN_BYTES = (0, 10**9)
"""Lengths in a WAV file's header that mean none: 0, and all from there up, as encoders write them into pipes. Files so
long are not taken, so none of these can be a file's own."""

_US = 1_000_000
_ID3_BYTES = 10
_XING_WITHIN = 256
_LAST_PAGE = 0x04
_PAGE_HEAD_BYTES = 27


def read_info(encoded: bytes, kind: AudioContainer, max_duration_s: float) -> AudioInfo:
    """Read what the container says; packets are read until they are too many, and none is decoded.

    Args:
        max_duration_s: a longer audio is refused: how long it really is then does not count.
    """
    with open_container(encoded, kind) as opened:
        stream = _audio(opened)
        declared_s = _declared_s(encoded, kind, opened, stream)
        duration_s = declared_s if declared_s > max_duration_s else _packets_s(opened, stream, max_duration_s)
        if duration_s < declared_s - MAX_LACK_S or _is_cut(encoded, kind):
            raise UnreadableFileError
        context = stream.codec_context
        return AudioInfo(rate_hz=context.sample_rate, num_channels=context.channels, duration_s=duration_s)


def read_samples(encoded: bytes, kind: AudioContainer, rule: AudioRule, max_samples: int) -> NDArray[np.float32]:
    """Decode the samples that a model takes: float32 `[num_samples]`, at least one.

    Args:
        max_samples: more, before the crop, are an error: the container said otherwise.

    Raises:
        UnreadableFileError: it cannot be read, or holds samples that are no numbers.
    """
    parts: list[NDArray[np.float32]] = []
    num_samples = 0
    with open_container(encoded, kind) as opened:
        for part in _resampled(opened, _audio(opened), rule.rate_hz):
            num_samples += len(part)
            if num_samples > max_samples:
                raise UnreadableFileError
            parts.append(part)
    if not num_samples:
        raise UnreadableFileError
    start, num_kept = rule.crop(num_samples)
    kept = np.concatenate(parts)[start : start + num_kept]
    if not bool((np.abs(kept) <= MAX_AMPLITUDE).all()):  # also false for NaN
        raise UnreadableFileError
    return kept


def count_samples(encoded: bytes, kind: AudioContainer, rule: AudioRule) -> int:
    """Count the samples that `read_samples` gives; none is kept, nor decoded after the last that is taken."""
    num_samples = 0
    with open_container(encoded, kind) as opened:
        for part in _resampled(opened, _audio(opened), rule.rate_hz):
            num_samples += len(part)
            if rule.keeps_start and 0 < rule.crop_samples <= num_samples:
                break
    _, num_kept = rule.crop(num_samples)
    return num_kept


def _audio(opened: InputContainer) -> AudioStream:
    if not opened.streams.audio:
        raise UnreadableFileError
    stream = opened.streams.audio[0]
    stream.codec_context.thread_type, stream.codec_context.thread_count = "NONE", 1
    if not MIN_RATE_HZ <= stream.codec_context.sample_rate <= MAX_RATE_HZ or stream.codec_context.channels < 1:
        raise UnreadableFileError
    return stream


def _packets_s(opened: InputContainer, stream: AudioStream, max_duration_s: float) -> float:
    """Add up the packets' durations; stops once they are too long."""
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


def _declared_s(encoded: bytes, kind: AudioContainer, opened: InputContainer, stream: AudioStream) -> float:
    """Seconds that the file's header counts; 0 where it counts none, and FFmpeg only guesses."""
    if kind == "webm":
        return (opened.duration or 0) / _US
    counts = kind in ("wav", "flac", "mp4") or (kind == "mp3" and _has_xing(encoded))
    return float(stream.duration * stream.time_base) if counts and stream.duration and stream.time_base else 0.0


def _is_cut(encoded: bytes, kind: AudioContainer) -> bool:
    """Return whether a file ends too soon by its own structure; MP3 and FLAC do not say.

    Source: RIFF (data chunks have their length in front), RFC 3533 section 6 (a stream's last page is marked).
    """
    if kind == "ogg":
        return _lacks_last_page(encoded)
    if kind in ("webm", "mp4"):
        return ends_inside(encoded, kind)
    return kind == "wav" and _lacks_data(encoded)


def _lacks_last_page(encoded: bytes) -> bool:
    page = encoded[encoded.rfind(b"OggS") :]
    if len(page) < _PAGE_HEAD_BYTES or not page[5] & _LAST_PAGE:
        return True
    segments = page[_PAGE_HEAD_BYTES : _PAGE_HEAD_BYTES + page[26]]
    return len(page) < _PAGE_HEAD_BYTES + page[26] + sum(segments)


def _lacks_data(encoded: bytes) -> bool:
    place = 12
    while place + 8 <= len(encoded):
        num_bytes = int.from_bytes(encoded[place + 4 : place + 8], "little")
        if encoded[place : place + 4] == b"data":
            none, unknown_from = UNKNOWN_BYTES
            return none < num_bytes < unknown_from and num_bytes > len(encoded) - place - 8
        place += 8 + num_bytes + num_bytes % 2
    return True


def _has_xing(encoded: bytes) -> bool:
    """Return whether the first frame of an MP3 file holds LAME's count of frames."""
    start = 0
    if encoded.startswith(b"ID3"):
        sizes = encoded[6:_ID3_BYTES]
        start = _ID3_BYTES + sum(byte << 7 * (3 - i) for i, byte in enumerate(sizes))
    head = encoded[start : start + _XING_WITHIN]
    return b"Xing" in head or b"Info" in head
