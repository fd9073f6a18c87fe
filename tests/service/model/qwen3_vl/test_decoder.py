"""Our decoder against the stock one: every part, every dtype, with and without shared beginnings."""

import random

import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers import Qwen3VLModel

from cenote_kernels.cpu.library import runs_on
from service.model.linear.cpu_backend import can_prepack_decoder
from service.model.linear.linear import fuse
from service.model.linear.prepacked_linear import PREPACKED_ROWS, padded_rows
from service.model.linear.products import BLOCK_ROWS, NATIVE, ONEDNN, TORCHS, PackedProducts
from service.model.load import load_stock
from service.model.packed.packed_batch import NO_VISUAL, PackedBatch, VisualTokens
from service.model.positions import mrope_positions
from service.model.qwen3_vl.language import LanguageModel
from tests.conftest import CHECKPOINT

CPU = torch.device("cpu")
GRID = (1, 4, 6)
HEAD = list(range(100, 120))


def batch_of(prompts: list[tuple[list[int], bool]], dtype: torch.dtype = torch.float32) -> PackedBatch:
    """Prompts one after the other; True puts an image of 6 tokens after the first 22."""
    ids: list[int] = []
    positions, visual = [], []
    for words, has_image in prompts:
        token_ids = [*words[:22], *[7] * 6, *words[22:]] if has_image else words
        visual += range(len(ids) + 22, len(ids) + 28) if has_image else ()
        positions.append(mrope_positions(len(token_ids), [(22, GRID)] if has_image else []))
        ids += token_ids
    index = torch.tensor(visual, dtype=torch.int64)
    features = torch.randn(len(visual), 3 * 128, generator=torch.Generator().manual_seed(3)).to(dtype)
    lengths = [positions.shape[1] for positions in positions]
    position_ids = torch.from_numpy(np.concatenate(positions, axis=1))
    return PackedBatch(torch.tensor(ids), position_ids, lengths, VisualTokens(index, features) if visual else NO_VISUAL)


def prompts(seed: int = 0) -> list[tuple[list[int], bool]]:
    draw = random.Random(seed)
    return [(HEAD + [draw.randrange(10, 8000) for _ in range(draw.randrange(4, 30))], i % 3 == 2) for i in range(12)]


@torch.inference_mode()
def stock_forward(model: Qwen3VLModel, batch: PackedBatch) -> torch.Tensor:
    """The stock decoder on each prompt by itself."""
    hidden, start = [], 0
    for length in batch.segment_lengths:
        item = slice(start, start + length)
        embeds = model.language_model.embed_tokens(batch.token_ids[item])
        mask = torch.zeros(length, dtype=torch.bool)
        index = batch.visual.index
        of_item = (index >= start) & (index < start + length)
        mask[index[of_item] - start] = True
        deepstack = None
        if of_item.any():
            main, *deepstack = batch.visual.features[of_item].split(128, dim=-1)
            embeds[mask] = main
        out = model.language_model(
            inputs_embeds=embeds[None],
            position_ids=batch.position_ids[:, None, item],
            visual_pos_masks=mask[None],
            deepstack_visual_embeds=deepstack,
            use_cache=False,
        )
        hidden.append(out.last_hidden_state[0])
        start += length
    return torch.cat(hidden)


@pytest.mark.parametrize("may_share", [False, True])
def test_all_rows_are_the_stock_decoders(model: Qwen3VLModel, may_share: bool) -> None:
    batch = batch_of(prompts())
    ours = LanguageModel(model, may_share=may_share).forward(batch)
    torch.testing.assert_close(ours, stock_forward(model, batch), atol=1e-5, rtol=1e-5)


def test_the_last_tokens_alone_are_the_last_of_all(model: Qwen3VLModel) -> None:
    language, batch = LanguageModel(model), batch_of(prompts(1))
    ends = np.cumsum(batch.segment_lengths) - 1
    last, whole = language.forward(batch, last_only=True), language.forward(batch)
    torch.testing.assert_close(last, whole[torch.from_numpy(ends)], atol=5e-6, rtol=0)  # each 2.4e-6 from the truth


def test_shared_beginnings_change_no_vector(model: Qwen3VLModel) -> None:
    words = prompts(2)
    batch = batch_of([*words, words[0], (HEAD, False), (HEAD[:5], False)])
    shared = LanguageModel(model).forward(batch, last_only=True)
    alone = LanguageModel(model, may_share=False).forward(batch, last_only=True)
    gap = functional.normalize(shared, dim=-1) - functional.normalize(alone, dim=-1)
    assert gap.abs().max() < 1e-6
    torch.testing.assert_close(shared[0], shared[12], atol=1e-5, rtol=0)  # where a row stands may move its last bits


def test_a_last_layer_with_deepstack_is_run_whole(model: Qwen3VLModel) -> None:
    language, batch = LanguageModel(model), batch_of([([*HEAD, 200, 201, 202], True)])
    language.layers = language.layers[:2]  # as many layers as levels
    states = language.forward(batch, last_only=True)
    torch.testing.assert_close(states[0], language.forward(batch)[-1], atol=5e-6, rtol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_stays_near_float32(model: Qwen3VLModel, dtype: torch.dtype) -> None:
    half = load_stock(Qwen3VLModel, CHECKPOINT, torch.device("cpu"), dtype)
    want = LanguageModel(model).forward(batch_of(prompts(3)), last_only=True)
    states = LanguageModel(half).forward(batch_of(prompts(3), dtype), last_only=True)
    assert states.dtype == dtype
    assert functional.cosine_similarity(states.float(), want, dim=-1).min() > 0.999


@pytest.mark.parametrize("bias", [False, True])
def test_fused_products_are_the_modules_and_share_their_memory(bias: bool) -> None:
    torch.manual_seed(0)
    modules = [torch.nn.Linear(6, width, bias=bias) for width in (4, 3, 5)]
    x = torch.randn(7, 6)
    want = torch.cat([module(x) for module in modules], dim=1).detach()
    fused = fuse(modules)
    torch.testing.assert_close(fused.project(x, torch.empty(7, 12)), want)
    torch.testing.assert_close(fused.part(4, 7).project(x, torch.empty(7, 3)), want[:, 4:7])
    torch.testing.assert_close(fused.project_add(x, torch.ones(7, 12)), want + 1)
    storage = fused.weight.untyped_storage().data_ptr()
    assert {module.weight.untyped_storage().data_ptr() for module in modules} == {storage}
    assert fuse(modules).weight.untyped_storage().data_ptr() == storage, "fusing again copies nothing"
    torch.testing.assert_close(torch.cat([module(x) for module in modules], dim=1).detach(), want)


@pytest.mark.parametrize("num_rows", [1, 14, BLOCK_ROWS, BLOCK_ROWS + 14, 3 * BLOCK_ROWS - 1, 8192])
def test_blocks_cover_all_rows_and_none_is_small(num_rows: int) -> None:
    blocks = TORCHS.blocks(num_rows)
    assert [row for block in blocks for row in range(block.start, block.stop)] == list(range(num_rows))
    assert len(blocks) == 1 or min(block.stop - block.start for block in blocks) > BLOCK_ROWS / 2


@pytest.mark.parametrize("num_rows", [1, 14, 511, 512, 513, 526, 1700])
def test_blocks_of_prepacked_products_have_rows_that_there_is_code_for(num_rows: int) -> None:
    assert (NATIVE.pad_blocks(num_rows), NATIVE.pad_blocks(0), ONEDNN.pad_blocks(0)) == (num_rows, 0, 0)
    num_filled = ONEDNN.pad_blocks(num_rows)
    assert num_rows <= num_filled < num_rows + 64
    blocks = ONEDNN.blocks(num_filled)
    sizes = [block.stop - block.start for block in blocks]
    assert [row for block in blocks for row in range(block.start, block.stop)] == list(range(num_filled))
    assert all(size == PREPACKED_ROWS for size in sizes[:-1])
    assert sizes[-1] == padded_rows(sizes[-1])


def test_a_batch_of_more_than_a_block_is_the_stock_decoders(model: Qwen3VLModel) -> None:
    draw = random.Random(4)
    batch = batch_of([([draw.randrange(10, 8000) for _ in range(length)], False) for length in (1700, 900, 1)])
    torch.testing.assert_close(LanguageModel(model).forward(batch), stock_forward(model, batch), atol=2e-5, rtol=1e-5)


def prepacked(products: PackedProducts, dtype: torch.dtype = torch.float32) -> LanguageModel:
    stock = load_stock(Qwen3VLModel, CHECKPOINT, torch.device("cpu"), dtype)
    language = LanguageModel(stock, products=products)
    linears = [module for module in stock.language_model.layers.modules() if isinstance(module, torch.nn.Linear)]
    assert linears
    assert not any(module.weight.numel() for module in linears), "the stock matrices are given back"
    return language


@pytest.mark.parametrize("last_only", [False, True])
@pytest.mark.parametrize("seed", [5, 6])
def test_prepacked_products_change_no_vector(
    model: Qwen3VLModel, packed: PackedProducts, last_only: bool, seed: int
) -> None:
    draw = random.Random(seed)
    long = [([draw.randrange(10, 8000) for _ in range(length)], False) for length in (700, 3)]
    for batch in (batch_of(prompts(seed)), batch_of([*prompts(seed), *long]), batch_of(prompts(seed)[:1])):
        ours = prepacked(packed).forward(batch, last_only=last_only)
        torch.testing.assert_close(ours, LanguageModel(model).forward(batch, last_only=last_only), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("products", [NATIVE, ONEDNN], ids=["native", "onednn"])
def test_prepacked_bfloat16_is_as_near_to_float32_as_torchs(model: Qwen3VLModel, products: PackedProducts) -> None:
    runs = runs_on(torch.bfloat16, CPU) if products is NATIVE else can_prepack_decoder(CPU, torch.bfloat16)
    if not runs:
        pytest.skip("not on this processor")
    stock = load_stock(Qwen3VLModel, CHECKPOINT, torch.device("cpu"), torch.bfloat16)
    both, exact, gaps = (prepacked(products, torch.bfloat16), LanguageModel(stock)), LanguageModel(model), [0.0, 0.0]
    for seed in range(5, 12):  # of one batch alone the two differ by a sixth either way
        want = exact.forward(batch_of(prompts(seed)), last_only=True)
        for number, one in enumerate(both):
            got = one.forward(batch_of(prompts(seed), torch.bfloat16), last_only=True)
            assert got.dtype == torch.bfloat16
            gaps[number] += float(1 - functional.cosine_similarity(got.float(), want, dim=-1).mean())
    assert gaps[0] <= 1.1 * gaps[1]


def test_filling_never_reaches_a_prompt(packed: PackedProducts) -> None:
    """Filling repeats the first token, here one whose vector is not a number."""
    language, batch = prepacked(packed), batch_of([(list(range(200, 209)), False), (HEAD, False), (HEAD[:7], False)])
    weight = language.embed_tokens.weight.detach().clone()
    weight[200] = float("nan")
    language.embed_tokens = torch.nn.Embedding.from_pretrained(weight)
    for last_only in (False, True):
        finite = language.forward(batch, last_only=last_only).isfinite().all(-1).tolist()
        assert finite == ([False, True, True] if last_only else [False] * 9 + [True] * 27)
