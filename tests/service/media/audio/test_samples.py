"""Facts of an audio file before it is decoded: format by first bytes, crop, keys, and what a slot holds."""

from dataclasses import replace

import numpy as np
import pytest

from service.errors import MediaError
from service.media.audio.audio_file import AudioInfo, AudioLimits, OpenAudio, audio_format, check_audio, check_named
from service.media.audio.samples import Audio, put_samples, samples_of
from service.media.error_location import ErrorLocation
from service.media.item import AudioRule

PLACE = ErrorLocation("inputs[1].content[0].audio_url", 1)
INFO = AudioInfo(rate_hz=16_000, num_channels=1, duration_s=2.0)
RULE = AudioRule(rate_hz=48_000)


def audio(rule: AudioRule = RULE, salt: bytes = b"", file: bytes = b"a") -> Audio:
    return Audio.of(OpenAudio(b"...", "wav", INFO, file), rule, ErrorLocation("input", 0), salt=salt)


@pytest.mark.parametrize(
    ("encoded", "kind"),
    [
        (b"RIFF\0\0\0\0WAVEfmt ", "wav"),
        (b"fLaC\0\0\0\x22", "flac"),
        (b"OggS\0\x02", "ogg"),
        (b"ID3\x04\0\0", "mp3"),
        (b"\xff\xfb\x90\x64", "mp3"),
        (b"\xff\xf3\x18\xc4", "mp3"),
        (b"\0\0\0\x20ftypM4A ", "mp4"),
        (b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm", "webm"),
    ],
)
def test_a_format_is_known_by_its_first_bytes(encoded: bytes, kind: str) -> None:
    assert audio_format(encoded, PLACE) == kind


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"R",
        b"RIFF\0\0\0\0AVI LIST",
        b"\xff\xf1\x50\x80",  # AAC without a container
        b"\xff\xfd\0\0",  # MPEG's layer 2
        b"\xff\xd8\xff\xe0",  # JPEG
        b"\x1aE\xdf\xa3\x01\0matroska",
        b"#EXTM3U\n",
        b"ffconcat version 1.0\n",
        b"FORM\0\0\0\0AIFF",
    ],
)
def test_other_files_are_refused_with_what_is_taken(encoded: bytes) -> None:
    with pytest.raises(MediaError, match="WAV, MP3, FLAC, Ogg, MP4, WebM") as caught:
        audio_format(encoded, PLACE)
    error = caught.value
    assert (error.code, error.param, error.index) == ("media_undecodable", PLACE.param, 1)


def test_a_name_stands_for_its_container() -> None:
    for named, kind in (("opus", "ogg"), ("ogg", "ogg"), ("m4a", "mp4"), ("wav", "wav")):
        check_named(named, kind, PLACE)  # type: ignore[arg-type]
    with pytest.raises(MediaError, match="got m4a, and the file is WEBM"):
        check_named("m4a", "webm", PLACE)


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ({"duration_s": 300.01}, "media_too_large", "300.0 s long; at most 300 s"),
        ({"num_channels": 17}, "media_too_large", "17 channels; at most 16"),
        ({"duration_s": 0.0}, "media_undecodable", "0 samples; at least 1"),
    ],
)
def test_limits_name_both_numbers(said: dict[str, float], code: str, words: str) -> None:
    check_audio(INFO, AudioLimits(), PLACE)
    told = AudioInfo(**({"rate_hz": 16_000, "num_channels": 1, "duration_s": 2.0} | said))  # type: ignore[arg-type]
    with pytest.raises(MediaError, match=words) as caught:
        check_audio(told, AudioLimits(), PLACE)
    assert caught.value.code == code


def test_a_crop_is_the_middle_and_a_short_audio_is_whole() -> None:
    rule = AudioRule(rate_hz=10, crop_samples=10)
    assert [rule.crop(length) for length in (1, 10, 11, 12, 31)] == [(0, 1), (0, 10), (0, 10), (1, 10), (10, 10)]
    assert AudioRule(rate_hz=10).crop(31) == (0, 31)


def test_a_slot_bounds_what_can_be_heard() -> None:
    assert audio().num_slot_bytes == 8 + 4 * 120_000  # two seconds and a half
    assert audio(AudioRule(rate_hz=48_000, crop_samples=48_000)).num_slot_bytes == 8 + 4 * 48_000
    samples = np.linspace(-1, 1, 1000, dtype=np.float32)
    slot = put_samples(samples, audio().num_slot_bytes)
    assert slot.nbytes == audio().num_slot_bytes
    assert np.array_equal(samples_of(slot.data), samples)


def test_level_two_keys_differ_by_file_rule_and_tenant() -> None:
    others = (RULE, b"", b"a"), (AudioRule(rate_hz=16_000), b"", b"a"), (RULE, b"salt", b"a"), (RULE, b"", b"b")
    cropped = AudioRule(rate_hz=48_000, crop_samples=48_000)
    digests = {audio(*one).digest for one in others} | {audio(cropped).digest}
    assert len(digests) == 5


def test_level_one_keys_are_of_the_samples_alone() -> None:
    samples = np.linspace(-1, 1, 1000, dtype=np.float32)
    one, long = audio(), audio(file=b"b")
    key = one.key(put_samples(samples, one.num_slot_bytes).data, b"model")
    assert long.key(put_samples(samples, 9000).data, b"model") == key
    others = {
        one.key(put_samples(samples[:-1], 9000).data, b"model"),
        one.key(put_samples(np.append(samples, np.float32(0)), 9000).data, b"model"),
        one.key(put_samples(samples, 9000).data, b"other"),
        replace(one, salt=b"salt").key(put_samples(samples, 9000).data, b"model"),
    }
    assert len(others | {key}) == 5
