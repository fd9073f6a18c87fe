"""Audio files that tests draw, and files of them by PyAV."""

import io

import av
import numpy as np
from numpy.typing import NDArray

from tests.models.audio.checkpoints import RATE_HZ

BITS = 32_768


def tone(seconds: float, hertz: float = 440.0, *, rate_hz: int = RATE_HZ, num_channels: int = 1) -> NDArray[np.float32]:
    """A tone that rises, each channel another, as 16 bits can say it: float32 `[num_channels, num_samples]`."""
    times = np.arange(round(seconds * rate_hz)) / rate_hz
    waves = [
        (0.3 + 0.1 * channel) * np.sin(2 * np.pi * (hertz + 40 * times) * (1 + channel) * times)
        for channel in range(num_channels)
    ]
    return (np.round(np.stack(waves) * (BITS - 1)) / BITS).astype(np.float32)


def encode(
    samples: NDArray[np.float32], container: str = "wav", codec: str = "pcm_s16le", *, rate_hz: int = RATE_HZ
) -> bytes:
    """A file of them."""
    layout = {1: "mono", 2: "stereo"}[len(samples)]
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as file:
        stream = file.add_stream(codec, rate=rate_hz, layout=layout)
        if samples.size:
            packed = np.ascontiguousarray(samples.T).reshape(1, -1) * BITS
            frame = av.AudioFrame.from_ndarray(np.round(packed).astype(np.int16), format="s16", layout=layout)
            frame.sample_rate = rate_hz
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return buffer.getvalue()


def decoded(encoded: bytes, rate_hz: int = RATE_HZ) -> NDArray[np.float32]:
    """One channel of a file at its own rate, which must be that: what the reference is given."""
    with av.open(io.BytesIO(encoded)) as file:
        assert file.streams.audio[0].rate == rate_hz
        planar = av.AudioResampler(format="fltp")
        parts = [part.to_ndarray() for frame in file.decode(audio=0) for part in planar.resample(frame)]
    return np.concatenate(parts, axis=1).mean(axis=0, dtype=np.float32)


FILES = (("wav", "pcm_s16le"), ("flac", "flac"), ("mp3", "libmp3lame"), ("mp4", "aac"))
"""Containers and codecs that keep 16 kHz."""
