"""Audio over HTTP: CLAP on both routes against transformers' own vectors, encoded once, limited, refused by name."""

import base64
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.at_start.environ import customized_environ
from tests.conftest import CHECKPOINT, TOLERANCE, LiveServer, data_uri, image, image_part, text_part
from tests.media_host import MediaHost, reply
from tests.models.audio.audios import FILES, decoded, encode, tone
from tests.models.audio.checkpoints import MAX_S, RATE_HZ, make_checkpoint
from tests.models.audio.reference import Reference
from tests.models.two_tower.images import IMAGES
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


def body(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"inputs": [{"content": [part]} for part in parts], **fields}


def cohere(server: LiveServer, **fields: Any) -> np.ndarray:
    return np.array(server.ask(V2, {"input_type": "search_document", **fields}).json()["embeddings"]["float"])


def refusal(server: LiveServer, asked: dict[str, Any], path: str = V1) -> tuple[int, str, str, str]:
    answer = server.http.post(path, json=asked)
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"], error["message"]


class Heard:
    """A server, and the reference of what it serves."""

    def __init__(self, server: LiveServer, folder: Path) -> None:
        self.server = server
        self.reference = Reference(folder)


@pytest.fixture(scope="module")
def unfused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint("unfused", tmp_path_factory.mktemp("clap") / "unfused")


@pytest.fixture(scope="module")
def clap(start_server: Callable[..., LiveServer], unfused: Path) -> LiveServer:
    return start_server("--model", str(unfused), "--max-audio-s", "20").wait_until_ready()


@pytest.fixture(scope="module", params=["fused", "unfused"])
def heard(
    request: pytest.FixtureRequest,
    start_server: Callable[..., LiveServer],
    tmp_path_factory: pytest.TempPathFactory,
) -> Heard:
    if request.param == "unfused":
        return Heard(request.getfixturevalue("clap"), request.getfixturevalue("unfused"))
    folder = make_checkpoint("fused", tmp_path_factory.mktemp("clap") / "fused")
    return Heard(start_server("--model", str(folder)).wait_until_ready(), folder)


def test_audios_of_all_formats_have_the_references_vectors_on_both_routes(heard: Heard) -> None:
    files = [encode(tone(1.1, next(hertz), num_channels=2), container, codec) for container, codec in FILES]
    files.append(encode(tone(2.5 * MAX_S, next(hertz)), "flac", "flac"))
    kinds = [*(container for container, _ in FILES), "flac"]
    theirs = heard.reference.audios([decoded(one) for one in files])
    parts = [input_audio(one, kind) for one, kind in zip(files, kinds, strict=True)]
    urls = [audio_url(one, kind) for one, kind in zip(files, kinds, strict=True)]
    assert np.abs(heard.server.vectors(body(*parts)) - theirs).max() <= TOLERANCE
    messages = [[{"role": "user", "content": [part]}] for part in urls]
    assert np.abs(heard.server.vectors({"messages": messages}) - theirs).max() <= TOLERANCE
    items = [{"content": [part]} for part in (*urls, *parts)]
    assert np.abs(cohere(heard.server, inputs=items) - np.concatenate([theirs, theirs])).max() <= TOLERANCE
    assert np.abs(theirs - theirs[0])[1:].max(axis=1).min() > 100 * TOLERANCE


def test_texts_and_audios_in_one_request_are_items_of_their_own(heard: Heard) -> None:
    encoded = encode(tone(0.6, next(hertz)))
    want = np.concatenate([heard.reference.texts(TEXTS), heard.reference.audios([decoded(encoded)])])
    parts = [*map(text_part, TEXTS), input_audio(encoded)]
    assert np.abs(heard.server.vectors(body(*parts)) - want).max() <= TOLERANCE
    assert np.abs(cohere(heard.server, **body(*parts)) - want).max() <= TOLERANCE
    assert np.abs(cohere(heard.server, texts=TEXTS) - want[:3]).max() <= TOLERANCE
    assert np.abs(heard.server.vectors({"input": TEXTS}) - want[:3]).max() <= TOLERANCE


def test_a_repeated_audio_is_decoded_and_encoded_once(clap: LiveServer) -> None:
    encoded = encode(tone(0.8, next(hertz)))
    names = ("cenote_vision_encodes_total", "cenote_sounds_decoded_total", "cenote_pictures_decoded_total")
    before = [clap.metric(name) for name in names]
    first = clap.vectors(body(input_audio(encoded), audio_url(encoded)))
    answer = clap.ask(V2, {**body(audio_url(encoded)), "input_type": "search_document"})
    assert answer.headers["x-encoder-cache"] == "hit=1, miss=0"
    assert np.array_equal(first[0], first[1])
    assert [clap.metric(name) - old for name, old in zip(names, before, strict=True)] == [1, 1, 0]


def test_the_same_samples_in_another_file_are_encoded_once(clap: LiveServer) -> None:
    samples = tone(0.8, next(hertz))
    before = clap.metric("cenote_vision_encodes_total")
    vectors = clap.vectors(body(input_audio(encode(samples)), input_audio(encode(samples, "flac", "flac"), "flac")))
    assert np.array_equal(vectors[0], vectors[1])
    assert clap.metric("cenote_vision_encodes_total") == before + 1


def test_an_audio_costs_a_token_and_is_no_image(clap: LiveServer) -> None:
    asked = body(input_audio(encode(tone(0.3, next(hertz)))))
    (entry,) = clap.ask("/tokenize", asked).json()["data"]
    usage = clap.ask(V1, asked).json()["usage"]
    assert entry["count"] == usage["prompt_tokens"] == 1
    assert (entry["image_tokens"], usage["image_tokens"]) == (0, 0)
    told = {"text_tokens": 0, "image_tokens": 0, "video_tokens": 0, "audio_tokens": 1, "cached_tokens": 0}
    assert usage["prompt_tokens_details"] == told
    answer = clap.ask(V2, {**asked, "input_type": "search_document"}).json()
    assert not answer.get("images")
    assert answer["meta"]["billed_units"] == {"input_tokens": 1, "image_tokens": 0, "images": 0}


def test_the_plan_says_what_it_takes(clap: LiveServer, server: LiveServer) -> None:
    card = clap.http.get("/v1/models").json()["data"][0]
    assert (card["modalities"], card["image_embeds_width"]) == (["text", "audio"], None)
    assert (card["audio_rate_hz"], card["max_audio_bytes"], card["max_audio_s"]) == (RATE_HZ, 64 << 20, 20)
    assert "image" not in card["input_types"]
    other = server.http.get("/v1/models").json()["data"][0]
    assert (other["max_audio_bytes"], other["max_audio_s"]) == (None, None)


def test_a_text_beside_an_audio_is_refused_before_anything_is_decoded(clap: LiveServer) -> None:
    part = input_audio(encode(tone(0.3, next(hertz))))
    before = clap.metric("cenote_sounds_decoded_total")
    for path in (V1, V2):
        asked = {"inputs": [{"content": [text_part("a cat"), part]}], "input_type": "search_document"}
        if path == V1:
            del asked["input_type"]
        status, code, param, message = refusal(clap, asked, path)
        assert (status, code, param) == (400, "unsupported_modality", "inputs[0]")
        assert "text beside an audio file" in message
    status, code, _, message = refusal(clap, {"inputs": [{"content": [part, part]}]})
    assert (status, code) == (400, "conflicting_input")
    assert "2 audio files" in message
    assert clap.metric("cenote_sounds_decoded_total") == before


def test_models_refuse_what_they_do_not_take_by_naming_what_they_do(clap: LiveServer, server: LiveServer) -> None:
    part = input_audio(encode(tone(0.3)))
    for asked in (body(part), {"messages": [{"role": "user", "content": [audio_url(encode(tone(0.3)))]}]}):
        status, code, param, message = refusal(server, asked)
        assert (status, code) == (400, "unsupported_modality")
        assert message == f"`{param}`: got audio; this model takes text, images and videos"
    image_uri = data_uri(IMAGES["tiny"])
    status, code, param, message = refusal(clap, body(image_part(image_uri)))
    assert (status, code, param) == (400, "unsupported_modality", "inputs[0].content[0].image_url")
    assert message == f"`{param}`: got an image; this model takes text and audio"
    frames = {"type": "video_frames", "frames": [{"url": image(1)}]}
    status, code, param, message = refusal(clap, body(frames))
    assert message == f"`{param}`: got a video; this model takes text and audio"
    asked = {"images": [image_part(image_uri)]}
    assert refusal(clap, asked, "/v1/image_embeds")[:3] == (400, "unsupported_modality", "images")


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
        (input_audio(silence(3600), "flac"), 413, "media_too_large", PARAM, "3600.0 s long; at most 20 s"),
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
    found = refusal(clap, body(part))
    assert found[:3] == (status, code, param or "inputs[0].content[0].audio_url")
    assert words in found[3]
    assert clap.metric("cenote_vision_encodes_total") == before


def test_a_format_that_is_unknown_is_refused_by_the_schema(clap: LiveServer) -> None:
    status, code, param, message = refusal(clap, body(input_audio(WAV, "pcm16")))
    assert (status, code, param) == (400, "invalid_request", f"{PARAM}.format")
    assert "wav" in message
    assert "'pcm16'" in message, "the name of an enumeration is no secret"


def test_a_broken_audio_fails_its_own_input_alone(clap: LiveServer) -> None:
    good = encode(tone(0.5, next(hertz)))
    asked = body(input_audio(good[:1000]), input_audio(good), on_error="per_item")
    first, second = clap.ask(V1, asked).json()["data"]
    assert (first["embedding"], first["error"]["param"]) == (None, PARAM)
    assert second["embedding"] is not None


def test_an_evicted_audio_is_decoded_again(
    start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The engine asks for samples of an audio file that the front believes cached."""
    folder = make_checkpoint("unfused", tmp_path_factory.mktemp("clap") / "unfused")
    flags = ("--encoder-cache-bytes", "128", "--host-cache-bytes", "0", "--result-cache-bytes", "0")
    small = start_server("--model", str(folder), *flags).wait_until_ready()
    parts = [input_audio(encode(tone(0.3, next(hertz)))) for _ in range(4)]
    first = [small.vectors(body(part)) for part in parts]
    decoded_before = small.metric("cenote_sounds_decoded_total")
    again = [small.vectors(body(part)) for part in parts]
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
    assert strict.vectors(body(part)).shape == (1, 24)
    long = input_audio(encode(tone(0.61)))
    status, code, param, message = refusal(strict, body(long))
    assert (status, code, param) == (413, "media_too_large", PARAM)
    assert "0.6 s long; at most 0.6 s" in message
    status, code, param, message = refusal(strict, body(input_audio(bytes(20_001))))
    assert (status, code, param) == (413, "media_too_large", f"{PARAM}.data")
    assert "20001 bytes; at most 20000" in message
    strict.stop()


def test_an_audio_by_url_is_fetched_once_and_what_is_not_taken_never(
    start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = make_checkpoint("unfused", tmp_path_factory.mktemp("clap") / "unfused")
    encoded = encode(tone(0.5, next(hertz)))
    with MediaHost({"/a.wav": reply(encoded), "/a.png": reply(IMAGES["tiny"])}) as host:
        flags = ("--allow-media-hosts", "localhost", "--allow-private-media-hosts", "localhost")
        server = start_server("--model", str(folder), *flags, "--media-ports", str(host.port)).wait_until_ready()
        by_url = {"type": "audio_url", "audio_url": {"url": host.url("/a.wav")}}
        vectors = server.vectors(body(by_url, input_audio(encoded), by_url))
        assert np.array_equal(vectors[0], vectors[1])
        assert np.array_equal(vectors[0], vectors[2])
        assert host.paths == ["/a.wav"]
        status, code, _, _ = refusal(server, body(image_part(host.url("/a.png"))))
        assert (status, code) == (400, "unsupported_modality")
        missing = {"type": "audio_url", "audio_url": host.url("/b.wav")}
        assert refusal(server, body(missing))[1:3] == ("media_fetch_failed", "inputs[0].content[0].audio_url")
        assert host.paths == ["/a.wav", "/b.wav"]
        server.stop()


def test_without_the_extra_audios_are_refused_by_its_name(
    start_server: Callable[..., LiveServer], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = make_checkpoint("unfused", tmp_path_factory.mktemp("clap") / "unfused")
    (tmp_path / "sitecustomize.py").write_text('import sys\nsys.modules["av"] = None\n')
    bare = start_server("--model", str(folder), env=customized_environ(tmp_path)).wait_until_ready()
    status, code, param, message = refusal(bare, body(input_audio(WAV)))
    assert (status, code, param) == (400, "invalid_request", PARAM)
    assert "extra `audio`" in message
    assert bare.http.get("/v1/models").json()["data"][0]["max_audio_bytes"] is None
    assert bare.vectors({"input": TEXTS}).shape == (3, 24)
    bare.stop()


def test_nothing_of_the_file_is_in_the_log(clap: LiveServer) -> None:
    refusal(clap, body(input_audio(WAV[:500] + b"a-secret-word")))
    assert "a-secret-word" not in clap.log.read_text()
    assert str(CHECKPOINT) not in clap.log.read_text()
