"""Pages of PDFs over HTTP: the vectors of the pages as images, each rendered once, and what is refused."""

import base64
import io
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
import pytest

from tests.at_start.environ import customized_environ
from tests.conftest import CHECKPOINT, TOLERANCE, LiveServer, data_uri, image_part, text_part
from tests.media_host import MediaHost, reply
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

V1 = "/v1/embeddings"
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


def body(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"inputs": [{"content": [part]} for part in parts], **fields}


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
    got = reader.vectors(body(*(page_part(file, page) for page in pages)))
    images = reader.vectors(body(*(rendered(file, page, max_pixels(reader)) for page in pages)))
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


def test_a_page_under_many_instructions_is_rendered_once(reader: LiveServer) -> None:
    file, name = pdf(1, form, (500, 500)), "cenote_pictures_decoded_total"
    before = reader.metric(name)
    for instruction in ("Represent the text.", "Represent the layout."):
        reader.vectors(body(page_part(file), instruction=instruction))
    assert reader.metric(name) - before == 1
    usage = reader.ask(V1, body(page_part(file))).json()["usage"]
    assert usage["prompt_tokens_details"]["image_tokens"] > 0


def test_a_page_is_fetched_from_an_allowed_host(start_server: Callable[..., LiveServer]) -> None:
    file = pdf(3)
    with MediaHost({"/report.pdf": reply(file)}) as host:
        flags = ("--allow-private-media-hosts", "localhost", "--media-ports", str(host.port))
        server = start_server("--model", "builtin", *flags).wait_until_ready()
        source = {"type": "file", "file": {"file_data": host.url("/report.pdf")}, "page": 2}
        got = server.vectors(body(source))
        assert np.abs(got - server.vectors(body(page_part(file, 2)))).max() == 0
        assert host.paths == ["/report.pdf"]


XFA = annotated(b"/Subtype/Link", b"", b"/NeedsRendering true/AcroForm<</Fields[]/XFA[]>>")
REFUSED = {
    "no PDF": (page_part(b"PK\x03\x04 and so on"), 422, "media_undecodable", PARAM, "no PDF"),
    "cut short": (page_part(pdf(1)[:300]), 422, "media_undecodable", PARAM, "damaged"),
    "password": (page_part(pdf(1, password="open sesame")), 422, "media_undecodable", PARAM, "encrypted"),
    "a form of scripts": (page_part(XFA), 422, "media_undecodable", PARAM, "XFA"),
    "no such page": (page_part(pdf(3), 7), 400, "invalid_request", "inputs[0].content[0].page", "got 7; the PDF has 3"),
    "page 0": (page_part(pdf(1), 0), 400, "invalid_request", "inputs[0].content[0].page", "1"),
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


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_read_is_refused_with_its_place(reader: LiveServer, name: str) -> None:
    part, status, code, param, words = REFUSED[name]
    answer = reader.http.post(V1, json=body(part))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), error
    assert param is None or error["param"] == param
    assert words in error["message"]
    well = page_part(pdf(2, paragraph, (300, 300)), 2)
    answer = reader.ask(V1, body(part, well, on_error="per_item")) if status != 400 or "URL" in name else None
    if answer is not None:
        first, second = answer.json()["data"]
        assert first["error"]["code"] == code
        assert len(second["embedding"]) == 256


@pytest.mark.parametrize("file", [endless(), boundless(13)])
def test_a_file_without_end_costs_its_process_and_nobody_else(reader: LiveServer, file: bytes) -> None:
    replaced = "cenote_decode_workers_replaced_total"
    before = reader.metric(replaced)
    assert reader.http.post(V1, json=body(page_part(file))).status_code == 422
    assert reader.metric(replaced) > before
    assert reader.vectors(body(page_part(pdf(1)))).shape == (1, 256)


def test_a_model_of_texts_refuses_pages_by_name(sparse: LiveServer) -> None:
    asked = {"inputs": [{"content": [page_part(pdf(1))]}], "embedding_types": ["sparse"]}
    answer = sparse.http.post("/v2/embed", json=asked)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "unsupported_modality")
    assert "a page of a PDF" in error["message"]
    assert sparse.http.get("/v1/models").json()["data"][0]["max_pdf_bytes"] is None


def test_a_server_without_the_extra_says_what_is_missing(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text(
        "import sys, importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pypdfium2' else find(name, *rest)\n"
    )
    server = start_server("--model", str(CHECKPOINT), env=customized_environ(tmp_path)).wait_until_ready()
    error = server.http.post(V1, json=body(page_part(pdf(1)))).json()["error"]
    assert (error["code"], error["param"]) == ("invalid_request", PARAM)
    assert "extra `pdf`" in json.dumps(error["message"])
