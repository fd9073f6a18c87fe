"""Audio over HTTP: CLAP on both routes against transformers' own vectors, encoded once, limited, refused by name."""

import base64
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import TOLERANCE, LiveServer, data_uri, inputs
from tests.journey.conftest import refusal
from tests.models.audio.audios import FILES, decoded, encode, tone
from tests.models.audio.checkpoints import RATE_HZ, make_checkpoint
from tests.models.audio.reference import Reference
from tests.video_file import video

pytestmark = pytest.mark.slow

V1, V2 = "/v1/embeddings", "/v2/embed"
PARAM = "inputs[0].content[0].input_audio"
TEXTS = ["a dog barks", "rain on a tin roof, far away", "thunder"]
hertz = count(200, 13)
"""Each test makes an audio file that no other test has sent."""


def input_audio(encoded: bytes, kind: str = "wav") -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": base64.b64encode(encoded).decode(), "format": kind}}


def audio_url(encoded: bytes, kind: str = "wav") -> dict[str, Any]:
    url = data_uri(encoded, kind).replace("data:image/", "data:audio/", 1)
    return {"type": "audio_url", "audio_url": {"url": url}}


@pytest.fixture(scope="module")
def unfused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint("unfused", tmp_path_factory.mktemp("clap") / "unfused")


@pytest.fixture(scope="module")
def clap(start_server: Callable[..., LiveServer], unfused: Path) -> LiveServer:
    return start_server("--model", str(unfused), "--max-audio-s", "20").wait_until_ready()


def test_files_of_all_formats_have_the_references_vectors(clap: LiveServer, unfused: Path) -> None:
    files = [
        (encode(tone(1.1, next(hertz), num_channels=2), container, codec), container) for container, codec in FILES
    ]
    theirs = Reference(unfused).audios([decoded(one) for one, _ in files])
    for make in (input_audio, audio_url):
        assert np.abs(clap.vectors(inputs(*(make(*one) for one in files))) - theirs).max() <= TOLERANCE
    assert np.abs(theirs - theirs[0])[1:].max(axis=1).min() > 100 * TOLERANCE


def test_the_same_samples_in_another_file_are_encoded_once(clap: LiveServer) -> None:
    samples = tone(0.8, next(hertz))
    before = clap.metric("cenote_vision_encodes_total")
    vectors = clap.vectors(inputs(input_audio(encode(samples)), input_audio(encode(samples, "flac", "flac"), "flac")))
    assert np.array_equal(vectors[0], vectors[1])
    assert clap.metric("cenote_vision_encodes_total") == before + 1


def test_an_audio_costs_a_token_and_is_no_image(clap: LiveServer) -> None:
    asked = inputs(input_audio(encode(tone(0.3, next(hertz)))))
    (entry,) = clap.ask("/tokenize", asked).json()["data"]
    usage = clap.ask(V1, asked).json()["usage"]
    assert entry["count"] == usage["prompt_tokens"] == 1
    assert (entry["image_tokens"], usage["image_tokens"]) == (0, 0)
    told = {"text_tokens": 0, "image_tokens": 0, "video_tokens": 0, "audio_tokens": 1, "cached_tokens": 0}
    assert usage["prompt_tokens_details"] == told
    answer = clap.ask(V2, {**asked, "input_type": "search_document"}).json()
    assert not answer.get("images")
    assert answer["meta"]["billed_units"] == {"input_tokens": 1, "image_tokens": 0, "images": 0}


def test_a_model_without_audio_says_what_it_takes(server: LiveServer) -> None:
    for asked in (inputs(input_audio(WAV)), {"messages": [{"role": "user", "content": [audio_url(WAV)]}]}):
        status, code, param, message = refusal(server, asked)
        assert (status, code) == (400, "unsupported_modality")
        assert message == f"`{param}`: got audio; this model takes text, images and videos"
    card = server.http.get("/v1/models").json()["data"][0]
    assert (card["max_audio_bytes"], card["max_audio_s"]) == (None, None)


def silence(seconds: int) -> bytes:
    return encode(np.zeros((1, seconds * RATE_HZ), np.float32), "flac", "flac")


NOTHING = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x80>\0\0\0}\0\0\2\0\x10\0data\0\0\0\0"
WAV, FLAC = encode(tone(1.0)), encode(tone(1.0), "flac", "flac")


@pytest.mark.parametrize(
    ("part", "status", "code", "param", "words"),
    [
        (input_audio(b"no sound at all"), 422, "media_undecodable", PARAM, "none of the accepted formats"),
        (input_audio(b"#EXTM3U\nfile:///etc/passwd\n"), 422, "media_undecodable", PARAM, "none of the accepted"),
        (input_audio(b"RIFF\x10\0\0\0WAVE" + bytes(90)), 422, "media_undecodable", PARAM, "cannot be decoded"),
        (input_audio(WAV[: len(WAV) // 2]), 422, "media_undecodable", PARAM, "cut short"),
        (input_audio(FLAC[: len(FLAC) // 2], "flac"), 422, "media_undecodable", PARAM, "cut short"),
        (input_audio(WAV, "mp3"), 422, "media_undecodable", f"{PARAM}.format", "got mp3, and the file is WAV"),
        (input_audio(NOTHING), 422, "media_undecodable", PARAM, "0 samples"),
        (input_audio(silence(100), "flac"), 413, "media_too_large", PARAM, "100.0 s long; at most 20 s"),
        (input_audio(video(4), "mp4"), 422, "media_undecodable", PARAM, "holds no audio"),
        (input_audio(b""), 422, "media_undecodable", f"{PARAM}.data", "empty"),
        ({"type": "audio_url", "audio_url": "http://a.example/a.wav"}, 400, "media_source_refused", None, "http URL"),
        ({"type": "audio_url", "audio_url": "file:///etc/passwd"}, 400, "media_source_refused", None, "`file:`"),
    ],
)
def test_what_is_no_audio_is_refused(
    clap: LiveServer, part: dict[str, Any], status: int, code: str, param: str | None, words: str
) -> None:
    before = clap.metric("cenote_vision_encodes_total")
    found = refusal(clap, inputs(part))
    assert found[:3] == (status, code, param or "inputs[0].content[0].audio_url")
    assert words in found[3]
    assert clap.metric("cenote_vision_encodes_total") == before


def test_a_format_that_is_unknown_is_refused_by_the_schema(clap: LiveServer) -> None:
    status, code, param, message = refusal(clap, inputs(input_audio(WAV, "pcm16")))
    assert (status, code, param) == (400, "invalid_request", f"{PARAM}.format")
    assert "wav" in message
    assert "'pcm16'" in message, "the name of an enumeration is no secret"


def test_an_evicted_audio_is_decoded_again(
    start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The engine asks for samples of an audio file that the front believes cached."""
    folder = make_checkpoint("unfused", tmp_path_factory.mktemp("clap") / "unfused")
    flags = ("--encoder-cache-bytes", "128", "--host-cache-bytes", "0", "--result-cache-bytes", "0")
    small = start_server("--model", str(folder), *flags).wait_until_ready()
    parts = [input_audio(encode(tone(0.3, next(hertz)))) for _ in range(4)]
    first = [small.vectors(inputs(part)) for part in parts]
    decoded_before = small.metric("cenote_sounds_decoded_total")
    again = [small.vectors(inputs(part)) for part in parts]
    assert np.array_equal(np.concatenate(first), np.concatenate(again))
    assert small.metric("cenote_sounds_decoded_total") > decoded_before
    small.stop()


def test_files_and_limits_are_the_settings(
    start_server: Callable[..., LiveServer], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = make_checkpoint("unfused", tmp_path_factory.mktemp("clap") / "unfused")
    (tmp_path / "a.wav").write_bytes(encode(tone(0.5, next(hertz))))
    flags = ("--max-media-bytes", "20000", "--max-audio-s", "0.6", "--media-paths", str(tmp_path))
    strict = start_server("--model", str(folder), *flags).wait_until_ready()
    part = {"type": "audio_url", "audio_url": {"url": (tmp_path / "a.wav").as_uri()}}
    assert strict.vectors(inputs(part)).shape == (1, 24)
    long = input_audio(encode(tone(0.61)))
    status, code, param, message = refusal(strict, inputs(long))
    assert (status, code, param) == (413, "media_too_large", PARAM)
    assert "0.6 s long; at most 0.6 s" in message
    status, code, param, message = refusal(strict, inputs(input_audio(bytes(20_001))))
    assert (status, code, param) == (413, "media_too_large", f"{PARAM}.data")
    assert "20001 bytes; at most 20000" in message
    strict.stop()
