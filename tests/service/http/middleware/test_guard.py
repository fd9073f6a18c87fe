"""A key's place among its requests under way: taken before anything is read, free when the answer's end is sent."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from litestar.types import ASGIApp

from service.fairness.threads import LoopTimeSlices
from service.front.admission.api_keys import Keyring
from service.front.admission.key_file import ApiKey, hash_key
from service.front.admission.shared_table import SharedTable
from service.front.serving.serving import Serving
from service.http.middleware.guard import Guard
from service.http.responses.answer import BodyParts, reply
from tests.builders import answer_lease
from tests.service.http.responses.test_reply import CHUNK, NUM_CHUNKS, Printed

ANSWERS: dict[str, tuple[BodyParts, int]] = {
    "at once": (BodyParts([b"whole"]), len("whole")),
    "of known length": (BodyParts([Printed(NUM_CHUNKS, is_exact=True)]), NUM_CHUNKS * len(CHUNK)),
    "of known length, with an end": (
        BodyParts([Printed(NUM_CHUNKS, is_exact=True), b"end"]),
        NUM_CHUNKS * len(CHUNK) + len("end"),
    ),
    "in chunks": (BodyParts([Printed(NUM_CHUNKS, is_exact=False)]), NUM_CHUNKS * len(CHUNK)),
}


@pytest.mark.parametrize("kind", list(ANSWERS))
def test_a_place_is_free_before_the_client_can_have_the_whole_answer(kind: str, tmp_path: Path) -> None:
    """Else who asks again at once is refused now and then, at another front at least."""
    key_file = tmp_path / "keys"
    limited = ApiKey(tenant="a", sha256=hash_key(b"lone").hex(), max_concurrent_requests=1)
    key_file.write_bytes(msgspec.json.encode(limited))
    keyring = Keyring(key_file, SharedTable.of_one_front())
    known = keyring.find(b"lone")
    assert known
    parts, num_bytes = ANSWERS[kind]
    app: ASGIApp = Guard(
        reply(LoopTimeSlices(), BodyParts(parts), [], "text/plain", answer_lease()),
        cast(Serving, SimpleNamespace(keyring=keyring)),
    )
    seen: list[tuple[int, int]] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            num_before = seen[-1][0] if seen else 0
            seen.append((num_before + len(message["body"]), known.meter.num_under_way))

    async def receive() -> Any:
        raise AssertionError("nothing reads this body")

    scope: Any = {"type": "http", "path": "/v1/embeddings", "headers": [(b"authorization", b"Bearer lone")]}
    asyncio.run(app(scope, receive, send))
    *before, (num_sent, num_at_the_end) = seen
    assert (num_sent, num_at_the_end) == (num_bytes, 0)
    assert all(num_under_way == 1 for _, num_under_way in before)
    assert kind == "in chunks" or all(num_so_far < num_bytes for num_so_far, _ in before)
