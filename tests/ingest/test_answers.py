"""The server's errors about items, as the dead letters of docs/ingest.md have them."""

import base64
import json
import re

from service.ingest.sending.answers import read_error
from tests.conftest import ROOT, LiveServer, image_part

PAGE = (ROOT / "docs" / "ingest.md").read_text()


def test_a_dead_letter_has_the_reason_without_the_place_in_the_batch(builtin: LiveServer) -> None:
    (sample,) = re.findall(r'^(\{"id":"b/text\.jpg".*\})$', PAGE, re.MULTILINE)
    broken = image_part("data:image/jpeg;base64," + base64.b64encode(b"no image").decode())
    body = {"inputs": [{"content": "x"}, {"content": [broken]}]}
    answer = builtin.http.post("/v1/embeddings", json=body)
    reason = read_error(answer.content, answer.status_code).reason
    assert "inputs[1]" in answer.json()["error"]["message"]
    told = json.loads(sample)
    assert (reason.code, reason.message) == (told["code"], told["message"])
