"""Kept beginnings: the vectors are those without them, and no tenant has anything of another's."""

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize
from transformers import Qwen3VLModel

from service.model.packed.packed_batch import PackedBatch, VisualTokens
from service.model.packed.prefix_cache import LEAST_ALIKE, LEAST_SHARE, LEAST_TOKENS, PrefixCache
from service.model.positions import mrope_positions
from service.model.qwen3_vl.language import LanguageModel

TOLERANCE = 1e-6
"""Of unit vectors. Raw ones have components of 2.9 and are up to 2.4e-6 from a forward in float64, both of them and on
every processor, so that two of them may be 5e-6 apart; that is 5e-7 of their length."""
PLENTY = 1 << 30
PAD = 8005
GRID, NUM_VISUAL = (1, 4, 6), 6
SYSTEM, LONGER = list(range(100, 115)), [*range(100, 115), *range(300, 340)]
OTHER = list(range(200, 230))


@pytest.fixture
def language(model: Qwen3VLModel) -> LanguageModel:
    return caching(model, PLENTY)


def caching(model: Qwen3VLModel, max_bytes: int) -> LanguageModel:
    language = LanguageModel(model)
    language.prefixes = PrefixCache(max_bytes)
    return language


def words(seed: int, num: int = 7) -> list[int]:
    return np.random.default_rng(seed).integers(1000, 8000, num).tolist()


def pack(*prompts: list[int], tenants: tuple[str, ...] | None = None, seed: int = 0) -> PackedBatch:
    """Prompts as a batch; each run of `PAD` is an image."""
    ids = torch.tensor([one for prompt in prompts for one in prompt])
    visual = torch.nonzero(ids == PAD).flatten()
    places = [[(prompt.index(PAD), GRID)] if PAD in prompt else [] for prompt in prompts]
    positions = [mrope_positions(len(prompt), place) for prompt, place in zip(prompts, places, strict=True)]
    features = torch.randn(len(visual), 3 * 128, generator=torch.Generator().manual_seed(seed))
    return PackedBatch(
        ids,
        torch.from_numpy(np.concatenate(positions, axis=1)),
        [len(prompt) for prompt in prompts],
        VisualTokens(visual, features),
        tenants=("a",) * len(prompts) if tenants is None else tenants,
    )


def check(language: LanguageModel, model: Qwen3VLModel, batch: PackedBatch) -> int:
    """Compare with a forward that keeps nothing; how many tokens of each prompt came from the cache."""
    before = language.prefixes.num_reused
    got = language.forward(batch, last_only=True)
    num_reused = language.prefixes.num_reused - before
    want = LanguageModel(model).forward(batch, last_only=True)
    assert (normalize(got, dim=-1) - normalize(want, dim=-1)).abs().max() <= TOLERANCE
    return num_reused // len(batch.segment_lengths)


def warm(language: LanguageModel, begins: list[int], tenant: str = "a") -> None:
    for seed in range(3):
        language.forward(pack([*begins, *words(seed)], tenants=(tenant,)), last_only=True)


def test_a_beginning_is_kept_once_three_prompts_had_it(language: LanguageModel, model: Qwen3VLModel) -> None:
    found = [check(language, model, pack([*SYSTEM, *words(seed)])) for seed in range(6)]
    assert found == [0, 0, 0, len(SYSTEM), len(SYSTEM), len(SYSTEM)]


def test_what_all_prompts_of_one_tenants_batch_begin_with_is_kept_at_once(
    language: LanguageModel, model: Qwen3VLModel
) -> None:
    first, second = ([[*LONGER, *words(seed + turn)] for seed in range(LEAST_ALIKE)] for turn in (0, 10))
    assert [check(language, model, pack(*batch)) for batch in (first, second)] == [0, len(LONGER)]
    assert check(language, model, pack(*second, tenants=("b",) * LEAST_ALIKE)) == 0


def test_a_batch_of_few_prompts_or_of_several_tenants_keeps_nothing_at_once(model: Qwen3VLModel) -> None:
    batch = [[*LONGER, *words(seed)] for seed in range(LEAST_ALIKE)]
    for some, tenants in ((batch[1:], ("a",) * (LEAST_ALIKE - 1)), (batch, ("a", "b", "a", "a"))):
        language = caching(model, PLENTY)
        language.forward(pack(*some, tenants=tenants), last_only=True)
        assert check(language, model, pack([*LONGER, *words(20)])) == 0


def test_vectors_are_the_same_with_images_and_in_batches(language: LanguageModel, model: Qwen3VLModel) -> None:
    warm(language, SYSTEM)
    image = [*SYSTEM, 150, *[PAD] * NUM_VISUAL, 151, *words(9)]
    assert check(language, model, pack(image)) == len(SYSTEM)
    several = [[*SYSTEM, *words(seed, num)] for seed, num in ((10, 1), (11, 30), (12, 7), (13, 7))]
    assert check(language, model, pack(image, *several, several[1])) == len(SYSTEM)
    assert check(language, model, pack(*several, [*OTHER, *words(14)])) == 0  # one begins otherwise


def test_a_beginning_is_left_where_it_saves_little(language: LanguageModel, model: Qwen3VLModel) -> None:
    warm(language, SYSTEM)
    most = len(SYSTEM) * LEAST_SHARE
    assert check(language, model, pack([*SYSTEM, *words(15, most - len(SYSTEM))])) == len(SYSTEM)
    assert check(language, model, pack([*SYSTEM, *words(16, most - len(SYSTEM) + 1)])) == 0


def test_a_beginning_ends_before_the_first_image_and_before_the_last_token(
    language: LanguageModel, model: Qwen3VLModel
) -> None:
    images = [pack([*SYSTEM, *[PAD] * NUM_VISUAL, 151, *words(1)], seed=seed) for seed in range(6)]
    assert [check(language, model, batch) for batch in images] == [0, 0, 0, *[len(SYSTEM)] * 3]
    assert check(language, model, pack([*SYSTEM, 7])) == len(SYSTEM)
    assert check(language, model, pack(SYSTEM)) == 0


def test_a_longer_beginning_takes_the_place_of_a_shorter(language: LanguageModel, model: Qwen3VLModel) -> None:
    warm(language, SYSTEM)
    found = [check(language, model, pack([*LONGER, *words(seed)])) for seed in range(20, 25)]
    assert found == [len(SYSTEM), len(SYSTEM), 0, len(LONGER), len(LONGER)]  # the third is computed whole, and kept
    few = [*SYSTEM, *words(30, LEAST_TOKENS - 1)]
    assert {check(language, model, pack([*few, *words(seed)])) for seed in range(31, 36)} == {len(SYSTEM)}


def test_tenants_have_nothing_of_each_other(language: LanguageModel, model: Qwen3VLModel) -> None:
    warm(language, SYSTEM, "a")
    prompt, same = [*SYSTEM, *words(40)], [*SYSTEM, *words(41)]
    assert check(language, model, pack(prompt, tenants=("b",))) == 0
    assert check(language, model, pack(prompt, same, tenants=("a", "b"))) == 0
    warm(language, SYSTEM, "b")
    assert check(language, model, pack(prompt, same, tenants=("a", "b"))) == len(SYSTEM)
    assert check(language, model, pack(prompt, tenants=())) == 0


def test_what_is_kept_is_bounded_and_the_least_recently_used_goes(model: Qwen3VLModel) -> None:
    language = caching(model, PLENTY)
    warm(language, OTHER)
    one_bytes = language.prefixes.num_bytes
    head_dim = model.language_model.layers[0].self_attn.head_dim
    assert one_bytes == sum(one.num_kv_heads for one in language.layers) * 2 * len(OTHER) * 4 * head_dim
    language = caching(model, int(1.6 * one_bytes))
    warm(language, OTHER)
    warm(language, SYSTEM)  # half as long: both fit
    assert check(language, model, pack([*OTHER, *words(50)])) == len(OTHER)
    warm(language, [*reversed(SYSTEM)])
    assert language.prefixes.num_bytes <= 1.6 * one_bytes
    assert check(language, model, pack([*SYSTEM, *words(51)])) == 0
    assert check(language, model, pack([*OTHER, *words(52)])) == len(OTHER)


def test_a_tenant_holds_no_more_than_its_share(model: Qwen3VLModel) -> None:
    language = caching(model, PLENTY)
    warm(language, SYSTEM)
    one_bytes = language.prefixes.num_bytes
    language.prefixes = PrefixCache(4 * one_bytes, tenant_share=0.5)
    warm(language, SYSTEM, "b")
    for begins in (SYSTEM, [*reversed(SYSTEM)], OTHER[: len(SYSTEM)]):
        warm(language, begins)
    assert language.prefixes.num_bytes == 3 * one_bytes
    assert check(language, model, pack([*SYSTEM, *words(70)])) == 0
    assert check(language, model, pack([*SYSTEM, *words(71)], tenants=("b",))) == len(SYSTEM)


def test_a_beginning_that_is_larger_than_all_may_be_is_not_kept(model: Qwen3VLModel) -> None:
    language = caching(model, 1000)
    warm(language, SYSTEM)
    assert check(language, model, pack([*SYSTEM, *words(60)])) == 0
    assert language.prefixes.num_bytes == 0
