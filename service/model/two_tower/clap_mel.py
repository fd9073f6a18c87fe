"""Log-mel features of one audio file, as CLAP's feature extractor makes them.

In: samples. Out: what the audio tower takes. Where the extractor chooses at random, the middle is taken here, so that a
file has one vector. Knows no model.

Source: transformers 5.23 `ClapFeatureExtractor` and `audio_utils.spectrogram`, `mel_filter_bank`, `power_to_db`.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.audio_utils import mel_filter_bank

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
        self._filters: NDArray[np.float64] = mel_filter_bank(
            num_frequency_bins=numbers.fft_window_size // 2 + 1,
            num_mel_filters=numbers.feature_size,
            min_frequency=numbers.frequency_min,
            max_frequency=numbers.frequency_max,
            sampling_rate=numbers.sampling_rate,
            norm=None if self.fuses else "slaney",
            mel_scale="htk" if self.fuses else "slaney",
        )

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


def _fused(mel: NDArray[np.float32], num_frames: int) -> NDArray[np.float32]:
    runs = np.array_split(np.arange(len(mel) - num_frames + 1), 3)
    starts = [int(run[len(run) // 2]) if len(run) else 0 for run in runs]
    size = (num_frames, NUM_FUSED_MELS)
    shrunk = torch.nn.functional.interpolate(torch.from_numpy(mel)[None, None], size, mode="bilinear")
    return np.stack([shrunk[0, 0].numpy(), *(mel[start : start + num_frames] for start in starts)])
