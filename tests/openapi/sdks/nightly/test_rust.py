"""Rust by openapi-generator: the generated types compile, and what they write of requests is answered.

A part's `type` is written twice there, by the union's tag and by the variant's own field; the server takes that.
"""

import base64
import json
import urllib.request
from pathlib import Path
from typing import Any

from tests.openapi.sdks.nightly.conftest import Generator


def test_the_types_compile_and_their_requests_are_answered(generator: Generator, live: tuple[str, str]) -> None:
    url, file = live
    workshop = generator.generate("rust")
    image = "data:image/png;base64," + base64.b64encode(Path(file).read_bytes()).decode()
    (workshop.folder / "image.txt").write_text(image)
    output = workshop.run("cargo", "run", "--quiet", "--offline", "--", "image.txt")
    embedding, rerank = output.splitlines()[-2:]  # after what the compiler warns of
    assert '"type":"text","type":"text"' in embedding
    assert len(answer(f"{url}/v1/embeddings", embedding)["data"]) == 1
    assert len(answer(f"{url}/v1/rerank", rerank)["results"]) == 2


def answer(url: str, body: str) -> Any:
    request = urllib.request.Request(url, body.encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)
