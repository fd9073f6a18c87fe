"""The playground's pages of a PDF over HTTP: for the model, bounded, refused in the API's words."""

import base64
import io
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pypdfium2
import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from tests.at_start.environ import customized_environ
from tests.conftest import CHECKPOINT, TOLERANCE, LiveServer, data_uri, image_part
from tests.pdf_file import endless, pdf, raw, slide

pytestmark = pytest.mark.slow

PAGES, V1 = "/playground/pages", "/v1/embeddings"
PARAM, THERE = "file.file_data", "inputs[0].content[0].file"


@pytest.fixture(scope="module")
def reader(start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    flags = ("--decode-timeout-s", "1", "--max-media-bytes", "300000")
    server = start_server("--model", "builtin", *flags).wait_until_ready()
    yield server
    assert server.stop() == 0


def source(file: bytes) -> dict[str, Any]:
    return {"file_data": f"data:application/pdf;base64,{base64.b64encode(file).decode()}"}


def ask(server: LiveServer, file: bytes, **fields: Any) -> httpx.Response:
    return server.http.post(PAGES, json={"file": source(file), **fields})


def images(answer: httpx.Response) -> list[dict[str, Any]]:
    """The pages as content parts, as the playground sends them."""
    assert answer.status_code == 200, answer.text
    return [image_part(data_uri(base64.b64decode(one))) for one in answer.json()["images"]]


def page_part(file: bytes, page: int = 1) -> dict[str, Any]:
    return {"type": "file", "file": source(file), "page": page}


def body(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"inputs": [{"content": [part]} for part in parts]}


def test_each_image_has_the_vector_of_its_page_and_is_encoded_once_for_both(reader: LiveServer) -> None:
    file, before = pdf(3, slide, (720, 405)), reader.metric("cenote_vision_encodes_total")
    got = reader.vectors(body(*images(ask(reader, file, model="builtin"))))
    pages = reader.vectors(body(*(page_part(file, page) for page in (1, 2, 3))))
    np.testing.assert_allclose(got, pages, rtol=0, atol=TOLERANCE)
    assert reader.metric("cenote_vision_encodes_total") - before == 3


def test_of_a_long_file_the_first_pages_are_given_and_the_number_of_all(reader: LiveServer) -> None:
    answer = ask(reader, pdf(26)).json()
    assert (answer["num_pages"], len(answer["images"])) == (26, 24)
    last = image_part(data_uri(base64.b64decode(answer["images"][-1])))
    np.testing.assert_allclose(
        reader.vectors(body(last)), reader.vectors(body(page_part(pdf(26), 24))), rtol=0, atol=TOLERANCE
    )


def test_as_many_pages_are_given_as_go_into_one_request(start_server: Callable[..., LiveServer]) -> None:
    server = start_server("--model", "builtin", "--max-body-bytes", "600000").wait_until_ready()
    answer = ask(server, pdf(12, same_noise))
    assert 1 < len(answer.json()["images"]) < answer.json()["num_pages"] == 12
    assert len(server.vectors(body(*images(answer)))) == len(answer.json()["images"])
    assert ask(server, bytes(600_000)).status_code == 413


def same_noise(canvas: Canvas, _: int) -> None:
    """Little in a PDF, which holds an image once for all its pages, and much in images of them."""
    noise = np.random.default_rng(0).integers(0, 256, (220, 170, 3), dtype=np.uint8)
    canvas.drawImage(ImageReader(Image.fromarray(noise)), 0, 0, *canvas._pagesize)


REFUSED = {
    "no PDF": page_part(b"PK\x03\x04 and so on"),
    "cut short": page_part(pdf(1)[:300]),
    "password": page_part(pdf(1, password="open sesame")),
    "too large": page_part(b"%PDF-1.4" + bytes(300_000)),
    "without end": page_part(endless()),
    "a hair": page_part(raw([b""], b"0 0 0.01 14000")),
    "a path": {"type": "file", "file": {"file_data": "/etc/report.pdf"}},
    "a file's URL": {"type": "file", "file": {"file_data": "file:///etc/report.pdf"}},
    "a URL": {"type": "file", "file": {"file_data": "https://a.example/b.pdf"}},
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_read_is_refused_as_the_api_refuses_it(reader: LiveServer, name: str) -> None:
    part = REFUSED[name]
    here = reader.http.post(PAGES, json={"file": part["file"]})
    there = reader.http.post(V1, json=body(part))
    mine, theirs = here.json()["error"], there.json()["error"]
    assert here.status_code == there.status_code >= 400
    assert (mine["code"], mine["message"], mine["param"]) == (
        theirs["code"],
        theirs["message"].replace(THERE, PARAM),
        PARAM,
    )


def test_a_page_without_end_is_named_and_costs_its_process_alone(reader: LiveServer) -> None:
    whole, last, name = (
        pypdfium2.PdfDocument(pdf(2)),
        pypdfium2.PdfDocument(endless()),
        "cenote_decode_workers_replaced_total",
    )
    whole.import_pages(last)
    joined, before = io.BytesIO(), reader.metric(name)
    whole.save(joined)
    error = ask(reader, joined.getvalue()).json()["error"]
    assert (error["code"], error["index"]) == ("media_undecodable", 2)
    assert reader.metric(name) > before
    assert len(images(ask(reader, pdf(2)))) == 2


@pytest.mark.parametrize(
    "sent", [{}, {"file": {}}, {"file": source(pdf(1)), "page": 1}, {"file": source(pdf(1)), "model": "x"}]
)
def test_a_body_of_another_shape_is_refused(reader: LiveServer, sent: dict[str, Any]) -> None:
    answer = reader.http.post(PAGES, json=sent)
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["param"] in ("file", "file.file_data", "page", "model")


def test_the_callers_deadline_holds(reader: LiveServer) -> None:
    answer = reader.http.post(PAGES, json={"file": source(endless())}, headers={"x-request-timeout": "0.5"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "deadline_exceeded")


def test_a_model_of_texts_refuses_pages_by_name(sparse: LiveServer) -> None:
    error = ask(sparse, pdf(1)).json()["error"]
    assert (error["code"], error["param"]) == ("unsupported_modality", PARAM)
    assert "got a PDF; this model takes text only" in error["message"]


def test_a_server_without_the_extra_says_what_is_missing(
    start_server: Callable[..., LiveServer], tmp_path: Any
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pypdfium2' else find(name, *rest)\n"
    )
    server = start_server("--model", str(CHECKPOINT), env=customized_environ(tmp_path)).wait_until_ready()
    error = ask(server, pdf(1)).json()["error"]
    assert (error["code"], error["param"]) == ("invalid_request", PARAM)
    assert "extra `pdf`" in error["message"]
