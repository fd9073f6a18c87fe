"""Log-mel features of one audio file, as CLAP's feature extractor makes them.

In: samples. Out: what the audio tower takes. Where the extractor chooses at random, the middle is taken here, so that a
file has one vector. Knows no model; numpy alone, but for one resize.

Source: transformers 5.23 `ClapFeatureExtractor` and `audio_utils.spectrogram`, `mel_filter_bank`, `power_to_db`.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from service.checkpoint.clap_features import NUM_FUSED_MELS, ClapFeatures

FLOOR = 1e-10
"""Of a filter's power: -100 dB."""

FRAMES_AT_ONCE = 512
"""So that five minutes do not take a gigabyte."""

NUM_FUSED = 4
"""All of the audio, and three parts of it."""


class ClapMel:
    """Features by the numbers of one checkpoint."""

    def __init__(self, numbers: ClapFeatures) -> None:
        self._numbers = numbers
        self.fuses = numbers.truncation == "fusion"
        self._window = np.hanning(numbers.fft_window_size + 1)[:-1]
        self._filters = mel_filters(numbers, is_slaney=not self.fuses)

    def features(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """``10 · log10(max(1e-10, |STFT|² · filters))``, of as much as the tower takes at once.

        A shorter audio is repeated and padded first. Of a longer one:
        `rand_trunc`: the samples in its middle, ``start = (n - max) // 2``;
        `fusion`: all of it, shrunk to as many frames, then three parts: the possible starts are divided in three runs,
        and the middle one of each, ``run[len(run) // 2]``, is taken.

        Args:
            samples: float32 `[num_samples]`, at least one.

        Returns:
            float32 `[1, frames, mels]`, or `[4, frames, mels]` with `fusion`.
        """
        most = self._numbers.max_samples
        if len(samples) <= most:
            return self._alike(self._log_mel(self._padded(samples)))
        if not self.fuses:
            start = (len(samples) - most) // 2
            return self._log_mel(samples[start : start + most])[None]
        mel, num_frames = self._log_mel(samples), most // self._numbers.hop_length + 1
        return self._alike(mel) if len(mel) == num_frames else _fused(mel, num_frames)

    def _alike(self, mel: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.stack([mel] * (NUM_FUSED if self.fuses else 1))

    def _padded(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        most, padding = self._numbers.max_samples, self._numbers.padding
        if len(samples) < most and padding != "pad":
            num_whole = most // len(samples)
            samples = np.tile(samples, num_whole + (padding == "repeat"))[:most]
        return np.pad(samples, (0, most - len(samples)))

    def _log_mel(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """`[frames, mels]`; frames are centered, and the ends mirrored."""
        size = self._numbers.fft_window_size
        mirrored = np.pad(samples, (size // 2, size // 2), mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(mirrored, size)[:: self._numbers.hop_length]
        found = np.empty((len(frames), self._numbers.feature_size), np.float32)
        for start in range(0, len(frames), FRAMES_AT_ONCE):
            some = slice(start, start + FRAMES_AT_ONCE)
            spectrum = np.fft.rfft(frames[some] * self._window).astype(np.complex64)  # the reference keeps no more
            power = np.abs(spectrum, dtype=np.float64) ** 2
            found[some] = 10.0 * np.log10(np.maximum(FLOOR, power @ self._filters))
        return found


def mel_filters(numbers: ClapFeatures, *, is_slaney: bool) -> NDArray[np.float64]:
    """Triangles over the bins of a spectrum, their corners at equal steps on the mel scale.

    Args:
        is_slaney: on Slaney's scale, each divided by its width; else HTK's, each of height 1.

    Returns:
        float64 `[bins, mels]`.
    """
    num_bins = numbers.fft_window_size // 2 + 1
    to_mel, to_hertz = (_slaney_mel, _slaney_hertz) if is_slaney else (_htk_mel, _htk_hertz)
    ends = to_mel(np.array([numbers.frequency_min, numbers.frequency_max], np.float64))
    corners = to_hertz(np.linspace(ends[0], ends[1], numbers.feature_size + 2))
    bins = np.linspace(0, numbers.sampling_rate // 2, num_bins)
    slopes, widths = corners[None] - bins[:, None], np.diff(corners)
    filters: NDArray[np.float64] = np.maximum(
        0.0, np.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:])
    )
    return filters * (2.0 / (corners[2:] - corners[:-2])) if is_slaney else filters


def _fused(mel: NDArray[np.float32], num_frames: int) -> NDArray[np.float32]:
    runs = np.array_split(np.arange(len(mel) - num_frames + 1), 3)
    starts = [int(run[len(run) // 2]) if len(run) else 0 for run in runs]
    size = (num_frames, NUM_FUSED_MELS)
    shrunk = torch.nn.functional.interpolate(torch.from_numpy(mel)[None, None], size, mode="bilinear")
    return np.stack([shrunk[0, 0].numpy(), *(mel[start : start + num_frames] for start in starts)])


def _htk_mel(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    return 2595.0 * np.log10(1.0 + hertz / 700.0)


def _htk_hertz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)


_LINEAR_HZ, _LINEAR_MELS = 1000.0, 15.0
_LOG_STEP = np.log(6.4) / 27.0


def _slaney_mel(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear up to 1 kHz, then logarithmic."""
    above = _LINEAR_MELS + np.log(np.maximum(hertz, _LINEAR_HZ) / _LINEAR_HZ) / _LOG_STEP
    return np.where(hertz >= _LINEAR_HZ, above, 3.0 * hertz / 200.0)


def _slaney_hertz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    above = _LINEAR_HZ * np.exp(_LOG_STEP * (mels - _LINEAR_MELS))
    return np.where(mels >= _LINEAR_MELS, above, 200.0 * mels / 3.0)
