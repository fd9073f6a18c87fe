"""Backgrounds of images and the place of their decoding; neither changes anything else."""

import base64
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.at_start.environ import customized_environ
from tests.builders import image_bytes
from tests.conftest import (
    CHECKPOINT,
    LiveServer,
    children_of,
    command_of,
    data_uri,
    image,
    image_part,
    text_part,
    until,
)

RED, GREEN = "#ff0000", "#00ff00"


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> str:
    return data_uri(image_bytes(image, kind, **options), kind.lower())


def half_clear() -> Image.Image:
    pixels = np.zeros((64, 64, 4), np.uint8)
    pixels[:, :32] = (0, 0, 255, 255)
    return Image.fromarray(pixels)


def over(color: tuple[int, int, int]) -> str:
    canvas = Image.new("RGB", (64, 64), color)
    image = half_clear()
    canvas.paste(image, mask=image.getchannel("A"))
    return encoded(canvas)


def vector(server: LiveServer, url: str, **more: Any) -> np.ndarray:
    return server.vectors({"inputs": [{"content": [image_part(url)]}], **more})[0]


def test_each_request_has_its_own_background_and_without_one_it_is_white(server: LiveServer) -> None:
    url = encoded(half_clear())
    wanted = ((None, (255, 255, 255)), (RED, (255, 0, 0)), (GREEN, (0, 255, 0)), (None, (255, 255, 255)))
    for color, opaque in ((color, over(rgb)) for color, rgb in wanted):
        assert np.array_equal(vector(server, url, image_background=color), vector(server, opaque)), color
    assert not np.array_equal(vector(server, url, image_background=RED), vector(server, url))


def test_every_route_that_takes_images_takes_a_background(server: LiveServer) -> None:
    url, opaque = encoded(half_clear()), over((255, 0, 0))
    for route, body in (
        ("/v2/embed", lambda source: {"images": [source], "embedding_types": ["base64"]}),
        ("/v1/embed", lambda source: {"images": [source], "embedding_types": ["base64"]}),
    ):
        got = server.ask(route, body(url) | {"image_background": RED}).json()["embeddings"]
        assert got == server.ask(route, body(opaque)).json()["embeddings"], route
    features = [
        server.ask("/v1/image_embeds", {"images": [image_part(source)]} | more).json()["data"][0]["content_hash"]
        for source, more in ((url, {"image_background": RED}), (opaque, {}), (url, {}))
    ]
    assert features[0] == features[1] != features[2]


def test_a_background_goes_under_palette_and_gray_transparency_too(server: LiveServer) -> None:
    image = Image.new("P", (64, 64), 0)
    image.putpalette([0, 0, 255, 9, 9, 9])
    image.paste(1, (0, 0, 32, 64))
    url = encoded(image, transparency=0)
    stored, laid = image.convert("RGB"), image.convert("RGB")
    laid.paste((255, 0, 0), (32, 0, 64, 64))
    assert np.array_equal(vector(server, url), vector(server, encoded(stored)))
    assert np.array_equal(vector(server, url, image_background=RED), vector(server, encoded(laid)))


def test_a_name_stands_for_the_file_and_keeps_its_background_until_a_request_gives_one(server: LiveServer) -> None:
    part = image_part(encoded(half_clear())) | {"uuid": "half-clear"}
    named = {"type": "image_url", "uuid": "half-clear"}

    def ask(one: dict[str, Any], **more: Any) -> np.ndarray:
        return server.vectors({"inputs": [{"content": [one]}], **more})[0]

    red = ask(part, image_background=RED)
    assert np.array_equal(ask(named), red)
    assert np.array_equal(ask(named, image_background=GREEN), vector(server, over((0, 255, 0))))
    assert np.array_equal(ask(part), vector(server, over((255, 255, 255))))
    assert np.array_equal(ask(named), red)


BREAKS = """
import after_import, os, sys
if "service.workers.image_worker" in " ".join(sys.orig_argv):
    from PIL import Image
    load = Image.Image.resize
    def resize(self, *arguments, **options):
        if self.size == (77, 77):
            os.kill(os.getpid(), 11)
        while self.size == (78, 78):
            pass
        return load(self, *arguments, **options)
    Image.Image.resize = resize
"""
"""For the server's environment: two images of odd sizes do to their process what a fault of a codec would."""


@pytest.fixture(scope="module")
def isolated(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("breaks")
    (folder / "sitecustomize.py").write_text(BREAKS)
    flags = ["--model", str(CHECKPOINT), "--decode-isolation", "processes", "--decode-workers", "2"]
    flags += ["--image-embeds", "refuse", "--decode-timeout-s", "2"]
    flags += ["--image-background", GREEN, "--image-orientation", "apply"]
    server = start_server(*flags, env=customized_environ(folder)).wait_until_ready()
    yield server
    server.stop()


def test_processes_give_the_vectors_of_threads(isolated: LiveServer, server: LiveServer) -> None:
    for kind in ("PNG", "JPEG", "WEBP", "GIF", "BMP"):
        assert np.array_equal(vector(isolated, image(5, kind=kind)), vector(server, image(5, kind=kind)))


def test_the_servers_background_and_orientation_are_what_a_request_does_not_give(
    isolated: LiveServer, server: LiveServer
) -> None:
    url = encoded(half_clear())
    assert np.array_equal(vector(isolated, url), vector(server, url, image_background=GREEN))
    assert np.array_equal(vector(isolated, url, image_background=RED), vector(server, url, image_background=RED))
    tag = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"
    noise = Image.fromarray(np.random.default_rng(1).integers(0, 256, (64, 96, 3), dtype=np.uint8))
    turned = noise.transpose(Image.Transpose.ROTATE_270)
    assert np.array_equal(vector(isolated, encoded(noise, exif=tag)), vector(server, encoded(turned)))
    assert np.array_equal(vector(server, encoded(noise, exif=tag)), vector(server, encoded(noise)))


def test_a_server_that_takes_no_features_says_so_and_still_gives_them(isolated: LiveServer) -> None:
    (entry,) = isolated.ask("/v1/image_embeds", {"images": [image_part(image(3))]}).json()["data"]
    answer = isolated.http.post("/v1/embeddings", json={"inputs": [{"content": [entry["part"]]}]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "media_source_refused")


@pytest.mark.parametrize(("side", "words"), [(77, "damaged"), (78, "within 2 s")])
def test_an_image_that_breaks_its_process_is_refused_alone(isolated: LiveServer, side: int, words: str) -> None:
    before = isolated.engine_pid()
    bad = encoded(Image.new("RGB", (side, side), "red"))
    items = [{"content": [image_part(url)]} for url in (image(11), bad, image(12))] + [{"content": "text"}]
    began_s = time.monotonic()
    data = isolated.ask("/v1/embeddings", {"inputs": items, "on_error": "per_item"}).json()["data"]
    assert time.monotonic() - began_s < 30
    assert [entry["embedding"] is None for entry in data] == [False, True, False, False]
    assert data[1]["error"]["code"] == "media_undecodable"
    assert words in data[1]["error"]["message"]
    answer = isolated.http.post("/v1/embeddings", json={"inputs": items})
    assert (answer.status_code, answer.json()["error"]["index"]) == (422, 1)
    assert isolated.engine_pid() == before
    series = r'cenote_decode_workers_replaced_total\{[^}]*reason="\w+"\} (\d+)'
    replaced = re.findall(series, isolated.http.get("/metrics").text)
    assert sum(map(int, replaced)) > 0


@pytest.mark.slow
def test_decoders_end_with_a_front_that_is_killed(start_server: Callable[..., LiveServer]) -> None:
    flags = ("--model", str(CHECKPOINT), "--decode-isolation", "processes", "--decode-workers", "2")
    server = start_server(*flags).wait_until_ready()
    workers = [pid for pid in children_of(server.process.pid) if "service.workers.image_worker" in command_of(pid)]
    assert len(workers) == 3  # one of them for small images
    server.process.kill()
    server.process.wait()
    until(lambda: not any("service.workers.image_worker" in command_of(pid) for pid in workers), "their end")


def test_features_say_whose_they_are_and_those_of_another_model_are_refused(
    server: LiveServer,
) -> None:
    (entry,) = server.ask("/v1/image_embeds", {"images": [image_part(image(3))]}).json()["data"]
    file = base64.b64decode(entry["part"]["image_embeds"]["image_embeds"])
    origin = re.search(rb'"cenote.origin":"([0-9a-f]{32})"', file)
    assert origin is not None
    part = {key: value for key, value in entry["part"].items() if key != "uuid"}
    assert server.ask("/v1/embeddings", {"inputs": [{"content": [part, text_part("a")]}]}).status_code == 200
    foreign = file.replace(origin[1], b"0" * 32)
    part["image_embeds"] |= {"image_embeds": base64.b64encode(foreign).decode()}
    answer = server.http.post("/v1/embeddings", json={"inputs": [{"content": [part]}]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_image_embeds")
    assert "another model" in answer.json()["error"]["message"]
