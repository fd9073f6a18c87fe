"""The feature extractor of a CLAP checkpoint, read from its file. Both processes read it; no torch.

Source: transformers 5.23 `ClapFeatureExtractor.__init__`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from service.checkpoint.image_processor import FILE, processor_part
from service.checkpoint.json_files import CheckpointError

NUM_FUSED_MELS = 64
"""The reference shrinks a long audio to so many filters, whatever the file says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClapFeatures:
    """The numbers of one checkpoint; without arguments those that transformers has by default.

    Attributes:
        feature_size: mel filters.
        sampling_rate: samples a second.
        hop_length: samples from one frame to the next.
        max_length_s: seconds that the tower takes at once.
        fft_window_size: samples of a frame.
        frequency_min: of the lowest filter, Hz.
        frequency_max: of the highest filter, Hz.
        truncation: of a longer audio three parts beside all of it, shrunk; or one part.
        padding: of a shorter audio.
    """

    feature_size: int = 64
    sampling_rate: int = 48_000
    hop_length: int = 480
    max_length_s: int = 10
    fft_window_size: int = 1024
    frequency_min: float = 0
    frequency_max: float = 14_000
    truncation: Literal["fusion", "rand_trunc"] = "fusion"
    padding: Literal["repeatpad", "repeat", "pad"] = "repeatpad"

    @property
    def max_samples(self) -> int:
        """Samples that the tower takes at once."""
        return self.max_length_s * self.sampling_rate


_CHOICES = {"truncation": ("fusion", "rand_trunc"), "padding": ("repeatpad", "repeat", "pad")}


def read_clap_features(folder: Path) -> ClapFeatures:
    """The feature extractor's numbers, defaults filled in; null means absent."""
    found = processor_part(folder, "feature_extractor")
    given = {name: found[name] for name in ClapFeatures.__dataclass_fields__ if found.get(name) is not None}
    for name, value in given.items():
        _check(name, value)
    features = ClapFeatures(**given)
    if not features.frequency_min < features.frequency_max:
        least, most = features.frequency_min, features.frequency_max
        raise CheckpointError(f"{FILE} has frequency_min {least} and frequency_max {most}; the first must be less")
    if features.truncation == "fusion" and features.feature_size != NUM_FUSED_MELS:
        raise CheckpointError(
            f"{FILE} has feature_size {features.feature_size} beside truncation fusion; supported: {NUM_FUSED_MELS}"
        )
    return features


def _check(name: str, value: Any) -> None:
    choices = _CHOICES.get(name)
    if choices is not None:
        if value not in choices:
            raise CheckpointError(f"{FILE} has {name} {value!r}; supported: {', '.join(choices)}")
    elif name.startswith("frequency_"):
        if not isinstance(value, int | float) or value < 0:
            raise CheckpointError(f"{FILE} has {name} {value!r}; a number of Hz is needed")
    elif type(value) is not int or value < 1:
        raise CheckpointError(f"{FILE} has {name} {value!r}; a positive integer is needed")


def check_towers(features: ClapFeatures, audio: Mapping[str, Any]) -> None:
    """Hold the extractor's numbers against the audio tower's, `audio_config` of config.json with its defaults."""
    fuses = features.truncation == "fusion"
    if fuses != bool(audio["enable_fusion"]):
        raise CheckpointError(
            f"{FILE} has truncation {features.truncation!r}, and config.json enable_fusion {audio['enable_fusion']!r}; "
            "supported: fusion with true, rand_trunc with false"
        )
    if audio["num_mel_bins"] != features.feature_size:
        raise CheckpointError(
            f"{FILE} has feature_size {features.feature_size}, and config.json num_mel_bins {audio['num_mel_bins']!r}"
        )
    num_frames = features.max_samples // features.hop_length + 1
    most = int(audio["spec_size"]) * (int(audio["spec_size"]) // int(audio["num_mel_bins"]))
    if num_frames > most:
        raise CheckpointError(
            f"{FILE} makes {num_frames} frames of an audio file; the tower of config.json takes {most}"
        )
