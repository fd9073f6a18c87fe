"""Graphs of short batches, as far as a machine without a GPU can see: what goes in, what comes out, and when.

A stand-in for the card's attention reads the same bounds, and a graph's replay is the forward over its own memory. Real
graphs run in `make check-gpu`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from transformers import Qwen3VLModel

from service.model.load import load_stock
from service.model.packed import captured, graph_cache, varlen_attention
from service.model.packed.captured import CapturedForwards, Inputs, Shape
from service.model.packed.graph_cache import Graph, GraphCache
from service.model.packed.packed_batch import PackedBatch
from service.model.qwen3_vl.captured_language import CapturedLanguageModel
from service.model.qwen3_vl.captured_vision import CapturedTower
from service.model.stock.text_encoder import TextEncoder
from tests.conftest import CHECKPOINT
from tests.gpu.encoder_checkpoint import write_encoder
from tests.service.model.packed.test_varlen_attention import stand_in

CPU = torch.device("cpu")
TOLERANCE = 1e-5


class Replayed:
    """A graph's stand-in: runs the forward over the memory that it was captured with."""

    def __init__(self, run: Callable[[], torch.Tensor], out: torch.Tensor) -> None:
        self._run, self._out = run, out

    def replay(self) -> None:
        self._out.copy_(self._run())


class Graphs(GraphCache):
    """With `Replayed` in the place of a graph; counts captures."""

    num_captured = 0

    def _capture(self, read: torch.Tensor, forward: Callable[[torch.Tensor], torch.Tensor]) -> Graph:
        self.num_captured += 1
        buffer, out = torch.zeros_like(read), forward(read)
        run = Replayed(lambda: forward(buffer), torch.full_like(out, torch.nan))
        return Graph(cast(Any, run), forward, buffer, run._out)


@pytest.fixture
def with_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(varlen_attention, "_kernel", lambda: (stand_in, True))


def packed(lengths: list[int], num_positions: int = 4, seed: int = 0) -> PackedBatch:
    ids = torch.randint(5, 60, (sum(lengths),), generator=torch.Generator().manual_seed(seed))
    positions = torch.cat([torch.arange(length) for length in lengths]).expand(num_positions, -1)
    return PackedBatch(ids, positions, lengths)


def with_row_for_each(batch: PackedBatch) -> torch.Tensor:
    """A plain forward that is not equal in any two rows."""
    return torch.stack([batch.token_ids.double(), batch.position_ids[0].double() + 1], dim=1)


def over(inputs: Inputs) -> torch.Tensor:
    return torch.stack([inputs.token_ids.double(), inputs.position_ids[0].double() + 1], dim=1)


@pytest.mark.parametrize("lengths", [[1], [16], [5, 14], [3] * 33, [700, 2, 41]])
def test_a_batch_is_filled_up_with_tokens_and_prompts_that_nobody_reads(lengths: list[int]) -> None:
    batch, shape = packed(lengths), Shape.of(lengths, 4)
    inputs = Inputs.of(shape, torch.from_numpy(shape.lay(batch)))
    num_tokens, num_prompts = sum(lengths), len(lengths)
    assert num_tokens <= shape.num_tokens <= max(num_tokens + 15, num_tokens * 9 / 8)
    assert num_prompts <= shape.num_prompts < 2 * num_prompts
    assert torch.equal(inputs.token_ids[:num_tokens], batch.token_ids)
    assert torch.equal(inputs.position_ids[:, :num_tokens], batch.position_ids)
    assert inputs.bounds.cumulative.diff().tolist() == lengths + [0] * (shape.num_prompts - num_prompts)
    assert inputs.bounds.lasts.diff().tolist() == [1] * num_prompts + [0] * (shape.num_prompts - num_prompts)
    assert (inputs.last[:num_prompts] + 1).tolist() == torch.tensor(lengths).cumsum(0).tolist()
    assert inputs.bounds.longest >= max(lengths)


def test_batches_of_one_shape_are_captured_once_when_the_second_comes() -> None:
    forwards = CapturedForwards(over, graphs := Graphs(CPU), 1, gives_prompts=False)
    for turn, lengths in enumerate(([5, 14], [9, 11], [20], [12, 18], [8, 9], [7, 24])):
        batch = packed(lengths, seed=turn)
        found = forwards.run(batch, lambda batch=batch: with_row_for_each(batch))  # type: ignore[misc]
        assert torch.equal(found, with_row_for_each(batch))
    assert graphs.num_captured == 1  # 20 tokens of one prompt came once
    long = packed([40], seed=9)
    small = CapturedForwards(over, unused := Graphs(CPU), captured.MAX_PRODUCTS // 39, gives_prompts=False)
    for _ in range(3):
        assert torch.equal(small.run(long, lambda: with_row_for_each(long)), with_row_for_each(long))
    assert unused.num_captured == 0


@pytest.mark.parametrize("fault", ["other rows", "an error"])
def test_what_cannot_be_captured_or_differs_runs_as_it_did(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    def wrong(inputs: Inputs) -> torch.Tensor:
        if fault == "an error":
            raise ValueError("a stock module waits for the device")
        return over(inputs).flip(0)

    batch, forwards = packed([5, 11]), CapturedForwards(wrong, graphs := Graphs(CPU), 1, gives_prompts=False)
    for _ in range(4):
        assert torch.equal(forwards.run(batch, lambda: with_row_for_each(batch)), with_row_for_each(batch))
    assert graphs.num_captured == 1
    assert "without CUDA graphs" in caplog.text


def test_shapes_that_came_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_cache, "MAX_GRAPHS", 2)
    forwards = CapturedForwards(over, graphs := Graphs(CPU), 1, gives_prompts=False)
    for num_tokens in (10, 10, 100, 100, 300, 10, 10):
        batch = packed([num_tokens])
        forwards.run(batch, lambda batch=batch: with_row_for_each(batch))  # type: ignore[misc]
    assert graphs.num_captured == 3


def test_graphs_have_so_much_memory_together(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = Graphs(CPU)
    forwards = CapturedForwards(over, graphs, 1, gives_prompts=False)
    for num_tokens in (16, 16, 320, 320):
        batch = packed([num_tokens])
        forwards.run(batch, lambda batch=batch: with_row_for_each(batch))  # type: ignore[misc]
    sizes = [one.num_bytes for one in graphs._graphs.values()]
    assert len(sizes) == 2
    monkeypatch.setattr(graph_cache, "MAX_BYTES", sum(sizes) - 1)
    batch = packed([32])
    forwards.run(batch, lambda: with_row_for_each(batch))
    assert [one.num_bytes for one in graphs._graphs.values()] == sizes[1:]


@pytest.mark.usefixtures("with_stand_in")
def test_our_decoder_gives_the_same_last_rows() -> None:
    language = CapturedLanguageModel(load_stock(Qwen3VLModel, CHECKPOINT, CPU, torch.float32), 1)
    forwards = CapturedForwards(language.last_rows, graphs := Graphs(CPU), 1, gives_prompts=True)
    for seed in range(3):
        batch = packed([5, 3, 9], seed=seed)
        want = super(CapturedLanguageModel, language).forward(batch, last_only=True)
        got = forwards.run(batch, lambda want=want: want)  # type: ignore[misc]
        torch.testing.assert_close(got, want, atol=TOLERANCE, rtol=0)
    assert graphs.num_captured == 1


@pytest.mark.usefixtures("with_stand_in")
def test_a_stock_encoder_gives_the_same_states(tmp_path: Path) -> None:
    encoder = TextEncoder.load(write_encoder(tmp_path / "tiny", "MiniLM", is_tiny=True), CPU, torch.float32)
    forwards = CapturedForwards(encoder._over, graphs := Graphs(CPU), 1, gives_prompts=False)
    for seed in range(3):
        batch = packed([7, 2, 5], 1, seed)
        want = encoder._in_order(batch)
        got = forwards.run(batch, lambda want=want: want)  # type: ignore[misc]
        torch.testing.assert_close(got, want, atol=TOLERANCE, rtol=0)
    assert graphs.num_captured == 1


def test_an_image_of_a_size_that_came_before_has_the_same_features() -> None:
    tower = CapturedTower(load_stock(Qwen3VLModel, CHECKPOINT, CPU, torch.float32))
    tower._graphs = graphs = Graphs(CPU)
    for seed in range(3):
        for side in (64, 96):
            generator = torch.Generator().manual_seed(seed)
            pixels = torch.randint(0, 256, (64, side, 3), dtype=torch.uint8, generator=generator)
            want = super(CapturedTower, tower).encode(pixels)
            torch.testing.assert_close(tower.encode(pixels), want, atol=0, rtol=0)
    assert graphs.num_captured == 2
