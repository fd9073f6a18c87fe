"""Audio files: what they say, what they give, and what is refused."""

import av
import numpy as np
import pytest

from service.media.audio.audio_file import audio_format
from service.media.audio.samples import SLACK_S
from service.media.error_location import ErrorLocation
from service.media.item import AudioRule
from service.workers.audio_reader import read_info, read_samples
from service.workers.container_reader import UnreadableFileError
from tests.models.audio.audios import FILES, decoded, encode, tone
from tests.models.audio.checkpoints import RATE_HZ

PLACE = ErrorLocation("inputs[3].content[0].input_audio", 3)
RULE = AudioRule(rate_hz=RATE_HZ)
MANY = 10**7


@pytest.mark.parametrize(("container", "codec"), FILES)
def test_samples_at_their_own_rate_are_the_codecs_to_the_bit(container: str, codec: str) -> None:
    encoded = encode(tone(1.3, num_channels=2), container, codec)
    kind = audio_format(encoded, PLACE)
    info = read_info(encoded, kind, 60)
    samples = read_samples(encoded, kind, RULE, MANY)
    assert np.array_equal(samples, decoded(encoded))
    assert (info.rate_hz, info.num_channels) == (RATE_HZ, 2)
    assert 0 <= info.duration_s + SLACK_S - len(samples) / RATE_HZ <= 2 * SLACK_S


def test_a_wav_file_gives_the_samples_that_were_written() -> None:
    samples = tone(0.7, num_channels=2)
    found = read_samples(encode(samples), "wav", RULE, MANY)
    assert np.array_equal(found, samples.mean(axis=0, dtype=np.float32))


@pytest.mark.parametrize(("container", "codec", "rate_hz"), [("wav", "pcm_s16le", 44_100), ("ogg", "libopus", 48_000)])
def test_other_rates_are_resampled(container: str, codec: str, rate_hz: int) -> None:
    """A low tone at another rate is the same tone, but for the filter's ends and the codec's noise."""
    encoded = encode(tone(1.0, 200, rate_hz=rate_hz), container, codec, rate_hz=rate_hz)
    found = read_samples(encoded, audio_format(encoded, PLACE), RULE, MANY)
    want = tone(1.0, 200)[0]
    assert abs(len(found) - len(want)) <= 1
    middle = slice(2000, -2000)
    error = found[middle][: len(want) - 4000] - want[middle][: len(found[middle])]
    assert np.sqrt((error**2).mean()) <= (1e-4 if codec == "pcm_s16le" else 2e-2)


def test_of_a_long_audio_the_middle_is_given() -> None:
    samples = tone(1.0)
    rule = AudioRule(rate_hz=RATE_HZ, crop_samples=5000)
    assert np.array_equal(read_samples(encode(samples), "wav", rule, MANY), samples[0, 5500:10500])


def without_length(encoded: bytes, num_bytes: int) -> bytes:
    place = encoded.index(b"data") + 4
    return encoded[:place] + num_bytes.to_bytes(4, "little") + encoded[place + 4 :]


@pytest.mark.parametrize("num_bytes", [0, 0xFFFFFFFF, 0xFFFFFFD3, 0x80000000, 0x7FFFFFFF, 0x7FFFF000, 2 * 10**9, 10**9])
def test_a_wav_file_out_of_a_pipe_is_read_to_its_end(num_bytes: int) -> None:
    encoded = without_length(encode(tone(0.61)), num_bytes)
    assert read_info(encoded, "wav", 60).duration_s == pytest.approx(0.61)
    assert np.array_equal(read_samples(encoded, "wav", RULE, MANY), tone(0.61)[0])


@pytest.mark.parametrize(("container", "codec"), [*FILES, ("ogg", "libopus")])
@pytest.mark.parametrize("part", [0.3, 0.75])
def test_a_file_that_is_cut_short_is_refused(container: str, codec: str, part: float) -> None:
    rate_hz = 48_000 if codec == "libopus" else RATE_HZ
    encoded = encode(tone(2.0, rate_hz=rate_hz), container, codec, rate_hz=rate_hz)
    kind = audio_format(encoded, PLACE)
    assert read_info(encoded, kind, 60).duration_s == pytest.approx(2.0, abs=0.2)
    with pytest.raises((UnreadableFileError, av.FFmpegError)):
        read_info(encoded[: int(len(encoded) * part)], kind, 60)


def test_a_header_that_says_too_much_is_believed_and_no_packet_is_read() -> None:
    encoded = bytearray(encode(tone(1.0), "flac", "flac"))
    assert read_info(bytes(encoded), "flac", 60).duration_s == pytest.approx(1.0)
    encoded[22:26] = (2**31).to_bytes(4, "big")  # STREAMINFO: samples in all
    assert read_info(bytes(encoded), "flac", 60).duration_s > 3600


def test_a_header_that_says_too_little_is_not_believed() -> None:
    encoded = bytearray(encode(tone(3.0), "flac", "flac"))
    encoded[22:26] = (100).to_bytes(4, "big")
    assert read_info(bytes(encoded), "flac", 60).duration_s == pytest.approx(3.0)
    with pytest.raises(UnreadableFileError):
        read_samples(bytes(encoded), "flac", RULE, RATE_HZ)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e9])
def test_samples_that_are_no_numbers_are_refused(value: float) -> None:
    samples = tone(0.2)[0].copy()
    plain = encode(samples[None], codec="pcm_f32le")
    found = read_samples(plain, "wav", RULE, MANY)
    assert np.abs(found - samples).max() < 1e-4
    place = plain.index(found[1000:1010].tobytes())
    broken = plain[:place] + np.float32(value).tobytes() + plain[place + 4 :]
    with pytest.raises(UnreadableFileError):
        read_samples(broken, "wav", RULE, MANY)
