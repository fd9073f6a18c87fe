"""CLAP's features and vectors against transformers' own, audio by audio."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import ClapFeatureExtractor

from service.checkpoint.clap_features import ClapFeatures, read_clap_features
from service.model.packed.packed_batch import PackedBatch, VisualTokens
from service.model.two_tower.clap_mel import ClapMel
from service.outputs.plan import TokenPlan
from tests.conftest import TOLERANCE
from tests.models.audio.audios import tone
from tests.models.audio.checkpoints import KINDS, MAX_S, RATE_HZ, make_checkpoint
from tests.models.audio.reference import Reference
from tests.models.served import Served

MAX = MAX_S * RATE_HZ
LENGTHS = (1, 37, 800, MAX // 3, MAX // 2, MAX - 1, MAX, MAX + 1, MAX + 159, MAX + 161, MAX + 400, 3 * MAX + 777)
"""From one sample to what is far too long, with all corners of the extractor's rules among them."""


class Loaded(Served):
    """A checkpoint, ours and the reference's."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.reference = Reference(folder)


@pytest.fixture(scope="module", params=sorted(KINDS))
def clap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return Loaded(make_checkpoint(request.param, tmp_path_factory.mktemp("clap") / request.param))


def audio(num_samples: int) -> np.ndarray:
    return tone(num_samples / RATE_HZ, 300 + num_samples % 1000)[0]


@pytest.mark.parametrize("num_samples", LENGTHS)
def test_features_are_those_of_the_extractor(clap: Loaded, num_samples: int) -> None:
    samples = audio(num_samples)
    ours = ClapMel(read_clap_features(clap.folder)).features(samples)
    theirs = clap.reference.features(samples)["input_features"][0].numpy()
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 1e-4  # decibels, of a range of 100


def test_audios_have_the_references_vectors(clap: Loaded) -> None:
    audios = [audio(length) for length in (800, MAX // 3, MAX + 1, 3 * MAX + 777)]
    ours = torch.cat([clap.model.backbone.encode(torch.from_numpy(one)) for one in audios]).numpy()
    theirs = clap.reference.audios(audios)
    assert np.abs(ours - theirs).max() <= TOLERANCE
    assert np.abs(theirs[1] - theirs[-1]).max() > 100 * TOLERANCE


def test_silence_and_noise_have_the_references_vectors(clap: Loaded) -> None:
    noise = np.random.default_rng(7).uniform(-1, 1, MAX // 2).astype(np.float32)
    for samples in (np.zeros(3 * MAX, np.float32), noise):
        ours = clap.model.backbone.encode(torch.from_numpy(samples)).numpy()
        assert np.abs(ours - clap.reference.audios([samples])).max() <= TOLERANCE


def test_what_the_front_cuts_off_is_not_heard(clap: Loaded) -> None:
    assert clap.profile.audios is not None
    samples = audio(3 * MAX + 777)
    start, num_heard = clap.profile.audios.rule.crop(len(samples))
    heard = samples[start : start + num_heard]
    assert len(heard) == (len(samples) if ClapMel(read_clap_features(clap.folder)).fuses else MAX)
    whole, part = (clap.model.backbone.encode(torch.from_numpy(one.copy())) for one in (samples, heard))
    assert torch.equal(whole, part)


def test_the_original_numbers_give_the_originals_features() -> None:
    """48 kHz, ten seconds: the defaults, on both filter banks."""
    samples = tone(4.2, rate_hz=48_000)[0]
    for truncation in ("fusion", "rand_trunc"):
        theirs = ClapFeatureExtractor(truncation=truncation)(samples, sampling_rate=48_000)["input_features"][0]
        ours = ClapMel(replace(ClapFeatures(), truncation=truncation)).features(samples)
        assert np.abs(ours - theirs).max() <= 1e-4


def test_texts_have_the_references_vectors(clap: Loaded) -> None:
    texts = ["a dog barks", "rain on a tin roof, far away", "a dog barks", "thunder", "", "wind " * 15]
    theirs = clap.reference.texts(texts)
    ids = [clap.reference.tokenizer(text)["input_ids"] for text in texts]
    features = clap.model.backbone.encode(torch.from_numpy(audio(800)))
    ids.insert(2, [clap.model.backbone.placeholder_ids["audio"]])
    lengths = [len(one) for one in ids]
    place = lengths[0] + lengths[1]
    packed = torch.tensor([token for one in ids for token in one])
    visual, plans = VisualTokens(torch.tensor([place]), features), [TokenPlan(one) for one in ids]
    batch = PackedBatch(packed, torch.zeros(1, len(packed)), lengths, visual, plans)
    ours = clap.model.embed(batch, [("dense",)] * len(ids))["dense"].rows.numpy()
    assert np.abs(np.delete(ours, 2, axis=0) - theirs).max() <= TOLERANCE
    assert np.array_equal(ours[2], features[0].numpy())
