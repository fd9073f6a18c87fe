"""Rust by openapi-generator: the generated types compile, and what they write of a request is answered.

A part's `type` is written twice there, by the union's tag and by the variant's own field; the server takes that.
"""

import base64
import json
import urllib.request
from pathlib import Path

from tests.openapi.sdks.nightly.conftest import Generator


def test_the_types_compile_and_their_request_is_answered(generator: Generator, live: tuple[str, str]) -> None:
    url, file = live
    workshop = generator.generate("rust")
    image = "data:image/png;base64," + base64.b64encode(Path(file).read_bytes()).decode()
    (workshop.folder / "image.txt").write_text(image)
    output = workshop.run("cargo", "run", "--quiet", "--offline", "--", "image.txt")
    body = output.splitlines()[-1]  # after what the compiler warns of
    assert '"type":"text","type":"text"' in body
    request = urllib.request.Request(f"{url}/v1/embeddings", body.encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert len(json.load(answer)["data"]) == 1
