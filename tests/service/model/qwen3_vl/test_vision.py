"""Our way through the vision tower gives what the stock tower gives, for every size and chunk of rows."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from transformers import Qwen3VLModel

import cenote_kernels
from service.checkpoint.hub import CHECKPOINT as BUILTIN
from service.errors import ModelError
from service.model.linear.linear import Linear, Product
from service.model.linear.products import PackedProducts
from service.model.load import load_stock
from service.model.qwen3_vl import tower_block, vision
from service.model.qwen3_vl.qwen3_vl import MERGE, PATCH, patchify
from service.model.qwen3_vl.tower_block import TowerTables
from service.model.qwen3_vl.vision import VisionTower, fold_still
from tests.conftest import CHECKPOINT as ORACLE
from tests.service.model.qwen3_vl.conftest import stock_features

TOLERANCE = 1e-5
SIDES = [(32, 32), (32, 640), (352, 800), (736, 768), (1024, 1024)]


@pytest.fixture(scope="module", params=[ORACLE, BUILTIN], ids=["oracle", "builtin"])
def model(request: pytest.FixtureRequest) -> Qwen3VLModel:
    return load_stock(Qwen3VLModel, request.param, torch.device("cpu"), torch.float32)


def drawn(height: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 256, (height, width, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))


def stock(model: Qwen3VLModel, pixels: torch.Tensor) -> torch.Tensor:
    return stock_features(model, patchify(pixels), *pixels.shape[:2])


def difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """The largest, as a share of the largest feature."""
    return float((ours - theirs).abs().max() / theirs.abs().max())


@pytest.mark.parametrize(("height", "width"), SIDES)
def test_features_are_those_of_the_stock_tower_also_over_packed_weights(
    model: Qwen3VLModel, packed: PackedProducts, height: int, width: int
) -> None:
    pixels = drawn(height, width)
    want = stock(model, pixels)
    for tower in (VisionTower(model), VisionTower(deepcopy(model), packed)):
        features = tower.encode(pixels)
        assert features.shape == (height * width // (PATCH * MERGE) ** 2, features.shape[1])
        assert features.is_contiguous()
        assert difference(features, want) < TOLERANCE


def test_no_more_than_a_blocks_weights_are_there_twice(model: Qwen3VLModel, packed: PackedProducts) -> None:
    own, left = deepcopy(model), list[int]()

    def make(linear: Linear) -> Product:
        left.append(sum(weight.numel() for weight in own.visual.blocks.parameters()))
        return packed.make_for_any_rows(linear)

    VisionTower(own, replace(packed, make_for_any_rows=make))
    num_blocks = len(own.visual.blocks)
    assert left[: 4 * num_blocks : 4] == sorted(set(left), reverse=True)[:num_blocks]


def test_chunks_of_rows_change_nothing(model: Qwen3VLModel, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = drawn(160, 224)
    whole = VisionTower(model).encode(pixels)
    monkeypatch.setattr(vision, "CHUNK_ROWS", 37)  # no divisor of 140
    assert difference(VisionTower(model).encode(pixels), whole) < TOLERANCE


def test_an_image_does_not_change_the_next(model: Qwen3VLModel) -> None:
    tower, pixels = VisionTower(model), drawn(64, 96)
    first = tower.encode(pixels)
    tower.encode(drawn(64, 96, seed=1))
    assert torch.equal(tower.encode(pixels), first)


def test_half_precision_stays_near() -> None:
    pixels = drawn(256, 256)
    whole = stock(load_stock(Qwen3VLModel, ORACLE, torch.device("cpu"), torch.float32), pixels)
    half = VisionTower(load_stock(Qwen3VLModel, ORACLE, torch.device("cpu"), torch.bfloat16)).encode(pixels)
    assert half.dtype == torch.bfloat16
    assert torch.nn.functional.cosine_similarity(half.float(), whole, dim=-1).min() > 0.999


def test_the_folded_projection_is_the_convolution(model: Qwen3VLModel) -> None:
    projection, pixels = model.visual.patch_embed.proj, drawn(64, 64)
    once = cenote_kernels.patchify(pixels) @ fold_still(projection.weight).t() + projection.bias
    torch.testing.assert_close(once, model.visual.patch_embed(patchify(pixels)), atol=1e-5, rtol=0)


def test_tables_are_made_once_and_kept_within_their_bound(model: Qwen3VLModel, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = TowerTables(model.visual)
    small = tables.of(4, 6)
    assert tables.of(4, 6) is small
    most = 3 * sum(table.nbytes for table in small)
    monkeypatch.setattr(tower_block, "MAX_BYTES", most)
    for width in (2, 4, 8, 10, 12):
        tables.of(4, width)
    assert tables.num_bytes <= most
    assert tables.of(4, 6) is not small
    torch.testing.assert_close(tables.of(4, 6).position, small.position, atol=0, rtol=0)


def test_another_activation_stops_the_start(model: Qwen3VLModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model.visual.config, "hidden_act", "relu")
    with pytest.raises(ModelError, match="relu"):
        VisionTower(model)
