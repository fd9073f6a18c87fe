"""Three adapters of one base at one address: one engine, the base in memory once, and nobody gets another's vector."""

import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import TOLERANCE, LiveServer, children_of, command_of
from tests.models.adapters.test_adapters import trained
from tests.models.quantized.formats import dequantized, nf4, plain_checkpoint
from tests.models.text.checkpoints import SIZES, make_checkpoint, reference
from tests.models.text.texts import TEXTS
from tests.models.weights import change_json

pytestmark = pytest.mark.slow
NAMES = ("law", "code", "news")
LARGE = {"hidden_size": 512, "num_hidden_layers": 12, "intermediate_size": 2048}
SLACK_BYTES = 40 << 20
"""For three loops, their threads and what a forward holds for a moment."""
SOME = list(TEXTS[:12])


@dataclass(frozen=True)
class Made:
    """A base and adapters of it, and the vectors of their merged models by the reference."""

    base: Path
    adapters: dict[str, Path]
    wanted: dict[str, np.ndarray]

    @property
    def base_bytes(self) -> int:
        return (self.base / "model.safetensors").stat().st_size

    @property
    def adapter_bytes(self) -> int:
        return sum((one / "adapter_model.safetensors").stat().st_size for one in self.adapters.values())

    @property
    def flags(self) -> list[str]:
        named = [f"base={self.base}", *(f"{name}={one}" for name, one in self.adapters.items())]
        return [flag for one in named for flag in ("--model", one)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    place = tmp_path_factory.mktemp("group")
    with pytest.MonkeyPatch.context() as patch:
        for name, size in LARGE.items():
            patch.setitem(SIZES, name, size)
        patch.setattr("tests.models.text.checkpoints.randomize", lambda _: None)  # 0.15 would be too much for the width
        base = make_checkpoint("qwen3", place / "base")
    wanted, adapters = {"base": reference(base).encode(SOME)}, {}
    for seed, name in enumerate(NAMES):
        adapters[name], merged = trained(base, place / name, seed=seed)
        wanted[name] = reference(merged).encode(SOME)
        shutil.rmtree(merged)
    return Made(base, adapters, wanted)


@pytest.fixture(scope="module")
def grouped(
    made: Made, tmp_path_factory: pytest.TempPathFactory, start_server: Callable[..., LiveServer]
) -> Iterator[LiveServer]:
    env = {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}
    server = start_server(*made.flags, "--result-cache-bytes", "1MiB", env=env)
    yield server.wait_until_ready()
    server.stop()


def engines(server: LiveServer) -> list[int]:
    return [pid for pid in children_of(server.process.pid) if "service.engine.worker" in command_of(pid)]


def own_bytes(pid: int) -> int:
    """Resident bytes, those that other processes share only in part."""
    found = re.search(r"^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    assert found is not None
    return int(found[1]) << 10


def check_all(server: LiveServer, made: Made, num_requests: int) -> None:
    """Requests for all names at once, of one text and of several."""
    draw = random.Random(5)
    asked = [(name, sorted(draw.sample(range(len(SOME)), draw.choice((1, 1, 5))))) for name in made.wanted]
    asked += [(draw.choice(list(made.wanted)), [draw.randrange(len(SOME))]) for _ in range(num_requests)]

    def ask(one: tuple[str, list[int]]) -> float:
        name, places = one
        got = server.vectors({"model": name, "input": [SOME[place] for place in places]})
        return float(np.abs(got - made.wanted[name][places]).max())

    with ThreadPoolExecutor(12) as pool:
        assert max(pool.map(ask, asked)) <= TOLERANCE


def test_each_name_has_the_vectors_of_its_merged_model(grouped: LiveServer, made: Made) -> None:
    apart = [np.abs(made.wanted["law"] - made.wanted[name]).max() for name in ("base", "code", "news")]
    assert min(apart) > 100 * TOLERANCE
    check_all(grouped, made, 200)
    cards = {one["id"]: one for one in grouped.http.get("/v1/models").json()["data"]}
    assert {*made.wanted} <= {*cards}
    assert len({cards[name]["fingerprint"] for name in made.wanted}) == len(made.wanted)
    for name in made.wanted:
        assert grouped.metric("cenote_engine_ready", model=name) == 1
        assert grouped.metric("cenote_batch_inputs_count", model=name) > 0


def test_the_base_is_in_memory_once(
    grouped: LiveServer, made: Made, start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    (pid,) = engines(grouped)
    alone = start_server("--model", f"{made.base}", env={"XDG_CACHE_HOME": str(tmp_path)}).wait_until_ready()
    alone.vectors({"input": SOME})
    before, ours = (own_bytes(one) for one in (*engines(alone), pid))
    alone.stop()
    assert made.base_bytes > 3 * SLACK_BYTES
    assert ours - before <= made.adapter_bytes + SLACK_BYTES


def test_all_names_come_back_when_the_engine_ends(grouped: LiveServer, made: Made) -> None:
    (pid,) = engines(grouped)
    os.kill(pid, signal.SIGKILL)
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        asked = [grouped.http.post("/v1/embeddings", json={"model": one, "input": "x"}) for one in made.wanted]
        if engines(grouped) not in ([], [pid]) and all(one.status_code == 200 for one in asked):
            break
        time.sleep(0.2)
    check_all(grouped, made, 20)
    assert len(engines(grouped)) == 1


@pytest.mark.parametrize("is_alone", [True, False])
def test_an_adapter_over_a_quantized_base(
    is_alone: bool, start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    """Alone it is merged into the dequantized weights; beside its base both are served over them."""
    plain = plain_checkpoint(tmp_path / "plain")
    quantized = nf4(plain, tmp_path / "quantized")
    meant = dequantized(quantized, plain)
    adapter, merged = trained(meant, tmp_path)
    change_json(adapter / "adapter_config.json", base_model_name_or_path=str(quantized))
    folders = {"adapter": (adapter, merged)} | ({} if is_alone else {"base": (quantized, meant)})
    flags = [flag for name, (folder, _) in folders.items() for flag in ("--model", f"{name}={folder}")]
    fronts = () if is_alone else ("--fronts", "2")
    server = start_server(*flags, *fronts, env={"XDG_CACHE_HOME": str(tmp_path / "cache")}).wait_until_ready()
    assert len(engines(server)) == 1
    for name, (_, theirs) in folders.items():
        got = server.vectors({"model": name, "input": SOME})
        assert np.abs(got - reference(theirs).encode(SOME)).max() <= TOLERANCE
    server.stop()
