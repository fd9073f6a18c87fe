"""Sizes, tokens and frames of EmbeddingGemma 2, as numbers: against transformers' functions, or its formulas."""

import numpy as np
import pytest
from transformers import Gemma4AudioFeatureExtractor
from transformers.models.gemma4.image_processing_pil_gemma4 import get_aspect_ratio_preserving_size

from service.media.item import AudioFrames, AudioRule
from service.media.resize.budget_rule import BudgetRule
from service.media.video.frame_rule import FrameRule
from service.workers.audio_reader import count_samples, read_samples
from tests.models.audio.audios import FILES, encode, tone

FRAMES = AudioFrames(reach=160, hop=160, of_token=4)


@pytest.mark.parametrize("max_tokens", [70, 280, 1120])
def test_sizes_are_the_processors(max_tokens: int) -> None:
    rule, shapes = BudgetRule(max_tokens=max_tokens), np.random.default_rng(5).integers(1, 4000, (500, 2))
    for height, width in [*shapes.tolist(), (1, 5000), (5000, 1), (48, 48), (1, 1), (3, 3000)]:
        want = get_aspect_ratio_preserving_size(height, width, 16, max_tokens * 9, 3)
        assert rule.size(height, width) == want, (height, width)
        assert rule.patches.num_tokens(rule.patches.grid_thw(*want)) <= max_tokens


def test_tokens_of_audio_are_the_extractors_whole_frames() -> None:
    extractor = Gemma4AudioFeatureExtractor()
    for num_samples in (161, 162, 320, 321, 480, 801, 960, 961, 16_000, 16_001, 12_345, 480_000):
        mask = extractor([np.zeros(num_samples, np.float32)])["input_features_mask"][0]
        assert FRAMES.num_tokens(num_samples) == int(mask[::2][::2].sum()), num_samples
    assert [FRAMES.num_tokens(one) for one in (0, 1, 160)] == [0, 0, 0]
    assert AudioFrames().num_tokens(0) == 1


def test_audio_that_is_cut_keeps_its_start() -> None:
    start = AudioRule(rate_hz=16_000, crop_samples=100, keeps_start=True, frames=FRAMES)
    assert [start.crop(one) for one in (99, 100, 101)] == [(0, 99), (0, 100), (0, 100)]
    middle = AudioRule(rate_hz=16_000, crop_samples=100)
    assert middle.crop(111) == (5, 100)
    assert len({start.key_parts, middle.key_parts, AudioRule(rate_hz=16_000).key_parts}) == 3


@pytest.mark.parametrize(("container", "codec"), FILES)
@pytest.mark.parametrize("rate_hz", [16_000, 44_100])
def test_samples_are_counted_as_they_are_read(container: str, codec: str, rate_hz: int) -> None:
    encoded = encode(tone(1.37, rate_hz=rate_hz, num_channels=2), container, codec, rate_hz=rate_hz)
    for crop in (0, 9_000, 1 << 20):
        rule = AudioRule(rate_hz=16_000, crop_samples=crop, keeps_start=True, frames=FRAMES)
        samples = read_samples(encoded, container, rule, 1 << 20)  # type: ignore[arg-type]
        assert count_samples(encoded, container, rule) == len(samples) > 0  # type: ignore[arg-type]


def test_frames_are_taken_at_the_rate_from_the_first_on() -> None:
    rule = FrameRule(budget=BudgetRule(), max_frames=32)
    assert rule.sample_file(range(100), 25.0) == [0, 25, 50, 75]
    assert rule.sample_file(range(99), 25.0) == [0, 25, 50]  # a second that is not whole has none
    assert rule.sample_file(range(10), 25.0) == [0]
    assert rule.sample_file(range(90), 29.97) == [0, 29, 59]
    assert rule.sample_file(range(40, 100), 25.0) == [40, 65]
    assert rule.sample_file(range(8), 2.0, fps=4.0) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
    assert rule.sample_file(range(100), 25.0, max_frames=2) == [0, 75]


def test_of_too_many_frames_those_at_equal_steps_are_kept_or_the_first() -> None:
    uniform = FrameRule(budget=BudgetRule(), max_frames=4)
    assert uniform.sample_list(10) == np.linspace(0, 9, 4, dtype=int).tolist() == [0, 3, 6, 9]
    assert uniform.sample_file(range(10), 1.0) == [0, 3, 6, 9]
    assert uniform.sample_list(4) == [0, 1, 2, 3]
    first = FrameRule(budget=BudgetRule(), max_frames=4, keeps_first=True)
    assert (first.sample_list(10), first.sample_file(range(10), 1.0)) == ([0, 1, 2, 3], [0, 1, 2, 3])
