"""Pages of PDFs, and the playground's images of them: each rendered and encoded once for both, and what is refused."""

import base64
import io
import math
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pypdfium2
import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from tests.conftest import TOLERANCE, LiveServer, data_uri, image_part, inputs, text_part
from tests.pdf_file import (
    A0,
    NEEDS_APPEARANCES,
    TYPED,
    annotated,
    boundless,
    endless,
    form,
    paragraph,
    pdf,
    raw,
    scan,
    slide,
)

V1, PAGES = "/v1/embeddings", "/playground/pages"
MAX_SCALE = 300 / 72
PARAM = "inputs[0].content[0].file"


@pytest.fixture(scope="module")
def reader(start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    flags = ("--decode-timeout-s", "1", "--max-media-bytes", "300000")
    server = start_server("--model", "builtin", *flags).wait_until_ready()
    yield server
    assert server.stop() == 0


def page_part(file: bytes, page: int | None = None, **fields: Any) -> dict[str, Any]:
    data = {"file_data": f"data:application/pdf;base64,{base64.b64encode(file).decode()}", **fields}
    return {"type": "file", "file": data} | ({} if page is None else {"page": page})


def rendered(file: bytes, page: int, max_pixels: int) -> dict[str, Any]:
    """The page as a client would render and send it."""
    opened = pypdfium2.PdfDocument(file)
    opened.init_forms()
    one = opened[page - 1]
    width, height = one.get_size()
    scale = min(MAX_SCALE, math.sqrt(max_pixels / (width * height)))
    png = io.BytesIO()
    one.render(scale=scale).to_pil().convert("RGB").save(png, "PNG")
    return image_part(data_uri(png.getvalue()))


def max_pixels(server: LiveServer) -> int:
    return int(server.http.get("/v1/models").json()["data"][0]["max_pixels"])


FILES = {
    "letters": pdf(3),
    "scan, turned": pdf(2, scan, (612, 792)),
    "form": pdf(1, form),
    "filled in": annotated(b"/Subtype/Widget/F 4" + TYPED % b"PAID", b"", NEEDS_APPEARANCES),
    "slides": pdf(2, slide, (720, 405)),
    "A0": pdf(1, paragraph, A0),
    "a point": pdf(1, lambda canvas, _: canvas.rect(0, 0, 1, 1, fill=1), (1, 1)),
    "a strip": raw([b"0 0 100 40 re f"], b"0 0 700 80"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_page_has_the_vector_of_its_image_and_is_encoded_once_for_both(reader: LiveServer, name: str) -> None:
    file, before = FILES[name], reader.metric("cenote_vision_encodes_total")
    pages = range(1, len(pypdfium2.PdfDocument(file)) + 1)
    got = reader.vectors(inputs(*(page_part(file, page) for page in pages)))
    images = reader.vectors(inputs(*(rendered(file, page, max_pixels(reader)) for page in pages)))
    np.testing.assert_allclose(got, images, rtol=0, atol=TOLERANCE)
    assert reader.metric("cenote_vision_encodes_total") - before == len(pages)
    assert all(np.abs(got[i] - got[j]).max() > TOLERANCE for i in range(len(got)) for j in range(i))


def test_pages_stand_among_other_parts_on_every_route(reader: LiveServer) -> None:
    file = pdf(2, slide)
    parts = [page_part(file, 2, filename="slides.pdf"), text_part("a slide"), page_part(file)]
    (here,) = reader.vectors({"inputs": [{"content": parts}]})
    (said,) = reader.vectors({"messages": [{"role": "user", "content": parts}]})
    cohere = {"model": "builtin", "inputs": [{"content": parts}], "input_type": "search_document"}
    (there,) = reader.ask("/v2/embed", cohere | {"embedding_types": ["float"]}).json()["embeddings"]["float"]
    np.testing.assert_array_equal(here, said)
    np.testing.assert_allclose(here, there, rtol=0, atol=TOLERANCE)
    documents = [{"content": [page_part(file, page)]} for page in (1, 2)]
    results = reader.ask("/v1/rerank", {"query": "a slide", "documents": documents}).json()["results"]
    assert sorted(result["index"] for result in results) == [0, 1]


XFA = annotated(b"/Subtype/Link", b"", b"/NeedsRendering true/AcroForm<</Fields[]/XFA[]>>")
REFUSED = {
    "no PDF": (page_part(b"PK\x03\x04 and so on"), 422, "media_undecodable", PARAM, "no PDF"),
    "cut short": (page_part(pdf(1)[:300]), 422, "media_undecodable", PARAM, "damaged"),
    "password": (page_part(pdf(1, password="open sesame")), 422, "media_undecodable", PARAM, "encrypted"),
    "a form of scripts": (page_part(XFA), 422, "media_undecodable", PARAM, "XFA"),
    "no such page": (page_part(pdf(3), 7), 400, "invalid_request", "inputs[0].content[0].page", "got 7; the PDF has 3"),
    "page 0": (page_part(pdf(1), 0), 400, "invalid_request", "inputs[0].content[0].page", "1"),
    "a file's URL": (
        {"type": "file", "file": {"file_data": "file:///etc/report.pdf"}},
        400,
        "media_source_refused",
        PARAM,
        "file",
    ),
    "a path": ({"type": "file", "file": {"file_data": "/etc/report.pdf"}}, 400, "media_source_refused", PARAM, "path"),
    "a URL": (
        {"type": "file", "file": {"file_data": "https://a.example/b.pdf"}},
        400,
        "media_source_refused",
        PARAM,
        "URL",
    ),
    "too large": (page_part(b"%PDF-1.4" + bytes(300_000)), 413, "media_too_large", PARAM, "at most 300000"),
    "no file": ({"type": "file"}, 400, "invalid_request", PARAM, "file"),
    "a file's id": ({"type": "file", "file": {"file_id": "file-1"}}, 400, "unknown_field", None, "file_id"),
    "without end": (page_part(endless()), 422, "media_undecodable", PARAM, "within 2 s"),
    "without bound": (page_part(boundless()), 422, "media_undecodable", PARAM, "The PDF cannot be"),  # read, or in time
    "a hair": (page_part(raw([b""], b"0 0 0.01 14000")), 413, "media_too_large", PARAM, "times the other"),
}


ROWS = [pytest.param(name, marks=[pytest.mark.slow] * name.startswith("without ")) for name in REFUSED]


@pytest.mark.parametrize("name", ROWS)
def test_a_file_that_cannot_be_read_is_refused_with_its_place(reader: LiveServer, name: str) -> None:
    part, status, code, param, words = REFUSED[name]
    answer = reader.http.post(V1, json=inputs(part))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), error
    assert param is None or error["param"] == param
    assert words in error["message"]
    well = page_part(pdf(2, paragraph, (300, 300)), 2)
    if status != 400 or "URL" in name:
        first, second = reader.ask(V1, inputs(part, well, on_error="per_item")).json()["data"]
        assert first["error"]["code"] == code
        assert len(second["embedding"]) == 256
    if param == PARAM and "file" in part:  # what is no matter of one page, the playground says in the same words
        here = reader.http.post(PAGES, json={"file": part["file"]})
        said = here.json()["error"]
        assert (here.status_code, said["code"], said["param"]) == (status, code, "file.file_data")
        assert words in said["message"]


@pytest.mark.parametrize("file", [endless(), boundless(13)])
def test_a_file_without_end_costs_its_process_and_nobody_else(reader: LiveServer, file: bytes) -> None:
    replaced = "cenote_decode_workers_replaced_total"
    before = reader.metric(replaced)
    assert reader.http.post(V1, json=inputs(page_part(file))).status_code == 422
    assert reader.metric(replaced) > before
    assert reader.vectors(inputs(page_part(pdf(1)))).shape == (1, 256)


def test_a_model_of_texts_refuses_pages_by_name(sparse: LiveServer) -> None:
    asked = {"inputs": [{"content": [page_part(pdf(1))]}], "embedding_types": ["sparse"]}
    error = sparse.refusal("/v2/embed", asked)
    assert error["code"] == "unsupported_modality"
    assert "a page of a PDF" in error["message"]
    error = ask(sparse, pdf(1)).json()["error"]
    assert (error["code"], error["param"]) == ("unsupported_modality", "file.file_data")
    assert "got a PDF; this model takes text only" in error["message"]
    assert sparse.http.get("/v1/models").json()["data"][0]["max_pdf_bytes"] is None


def ask(server: LiveServer, file: bytes, **fields: Any) -> httpx.Response:
    """The playground's pages of a file."""
    return server.http.post(PAGES, json={"file": page_part(file)["file"], **fields})


def images(answer: httpx.Response) -> list[dict[str, Any]]:
    """The pages as content parts, as the playground sends them."""
    assert answer.status_code == 200, answer.text
    return [image_part(data_uri(base64.b64decode(one))) for one in answer.json()["images"]]


@pytest.mark.slow
def test_each_image_has_the_vector_of_its_page_and_is_encoded_once_for_both(reader: LiveServer) -> None:
    file, before = pdf(3, slide, (640, 360)), reader.metric("cenote_vision_encodes_total")
    got = reader.vectors(inputs(*images(ask(reader, file, model="builtin"))))
    pages = reader.vectors(inputs(*(page_part(file, page) for page in (1, 2, 3))))
    np.testing.assert_allclose(got, pages, rtol=0, atol=TOLERANCE)
    assert reader.metric("cenote_vision_encodes_total") - before == 3


@pytest.mark.slow
def test_of_a_long_file_the_first_pages_are_given_and_the_number_of_all(reader: LiveServer) -> None:
    answer = ask(reader, pdf(26)).json()
    assert (answer["num_pages"], len(answer["images"])) == (26, 24)
    last = image_part(data_uri(base64.b64decode(answer["images"][-1])))
    np.testing.assert_allclose(
        reader.vectors(inputs(last)), reader.vectors(inputs(page_part(pdf(26), 24))), rtol=0, atol=TOLERANCE
    )


@pytest.mark.slow
def test_as_many_pages_are_given_as_go_into_one_request(start_server: Callable[..., LiveServer]) -> None:
    server = start_server("--model", "builtin", "--max-body-bytes", "600000").wait_until_ready()
    answer = ask(server, pdf(12, same_noise))
    assert 1 < len(answer.json()["images"]) < answer.json()["num_pages"] == 12
    assert len(server.vectors(inputs(*images(answer)))) == len(answer.json()["images"])
    assert ask(server, bytes(600_000)).status_code == 413


def same_noise(canvas: Canvas, _: int) -> None:
    """Little in a PDF, which holds an image once for all its pages, and much in images of them."""
    noise = np.random.default_rng(0).integers(0, 256, (220, 170, 3), dtype=np.uint8)
    canvas.drawImage(ImageReader(Image.fromarray(noise)), 0, 0, *canvas._pagesize)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"file": {}},
        {"file": page_part(pdf(1))["file"], "page": 1},
        {"file": page_part(pdf(1))["file"], "model": "x"},
    ],
)
def test_a_body_of_another_shape_is_refused(reader: LiveServer, sent: dict[str, Any]) -> None:
    answer = reader.http.post(PAGES, json=sent)
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["param"] in ("file", "file.file_data", "page", "model")


@pytest.mark.slow
def test_the_callers_deadline_holds(reader: LiveServer) -> None:
    answer = reader.http.post(PAGES, json={"file": page_part(endless())["file"]}, headers={"x-request-timeout": "0.5"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "deadline_exceeded")
