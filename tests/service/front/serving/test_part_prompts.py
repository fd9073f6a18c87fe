"""Where the prompts of a part are made: with few cores on the event loop, so long as none of its texts is long."""

import asyncio
import threading

import pytest

from schemas.endpoints.embeddings import EmbeddingRequest
from service.front.admission.admission import Admission
from service.front.admission.answer_room import AnswerRoom
from service.front.admission.forward_rate import ForwardRate
from service.front.admission.load import QueueLimits
from service.front.admission.queues import Queues
from service.front.admission.shared_table import SharedTable
from service.front.inputs.parts import PartSize
from service.front.inputs.sources import TURN_CHARS
from service.front.serving.embedder import FEW_CORES, Embedder
from service.front.tenant import SERVICE
from service.front.turns import Turns
from service.ipc.bell import Bell
from service.ipc.messages import OutputSpec
from service.prompt.plain_texts import PlainTexts
from tests.service.front.inputs.test_reader import input_reader
from tests.service.front.serving.test_part_runs import Engine

READER = input_reader()
SIZE = PartSize(20, 30_000)
SHORT = [f"text {i}" for i in range(100)]


def embedded(texts: list[str], cores: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[list[int]], list[str]]:
    """The tokens of each input, and the thread of each group of texts."""
    threads: list[str] = []
    build = PlainTexts.build

    def recorded(self: PlainTexts, *arguments: object) -> object:
        threads.append(threading.current_thread().name)
        return build(self, *arguments)  # type: ignore[arg-type]

    async def run() -> list[list[int]]:
        queues = Queues(Admission(QueueLimits(1000, 100_000, 1 << 20), SharedTable.of_one_front()), None)
        room = AnswerRoom(1 << 30, 1.0, SharedTable.of_one_front())
        embedder = Embedder(
            READER,
            Engine(),
            queues,
            room,
            Turns(),
            Bell(),
            num_threads=cores,
            timeout_s=60,
            part_size=SIZE,
            forwards=ForwardRate(8192),
        )
        request = EmbeddingRequest(input=texts, truncate_prompt_tokens=-1)
        job = READER.embedding_job(request, OutputSpec(dimensions=8), SERVICE.tenant)
        result = await embedder.embed(job, SERVICE)
        return [one.prompt.token_ids for one in result.embedded]

    with monkeypatch.context() as patched:
        patched.setattr(PlainTexts, "build", recorded)
        return asyncio.run(run()), threads


def test_short_texts_are_made_on_the_loop_where_cores_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts, threads = embedded(SHORT, FEW_CORES, monkeypatch)
    others, other_threads = embedded(SHORT, FEW_CORES + 1, monkeypatch)
    assert len(prompts) == len(SHORT)
    assert prompts == others
    assert set(threads) == {"MainThread"}
    assert "MainThread" not in other_threads


def test_a_part_with_a_long_text_is_left_to_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * (TURN_CHARS + 1)
    _, threads = embedded([*SHORT, long], FEW_CORES, monkeypatch)
    assert threads[: len(SHORT) // SIZE.num_inputs] == ["MainThread"] * (len(SHORT) // SIZE.num_inputs)
    assert threads[-1] != "MainThread"
