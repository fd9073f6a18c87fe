"""Qwen2.5-Omni's thinker as the engine runs it: `StockVlm` that sees videos by pairs of frames, and hears.

Pairs and audio go through their tower one at a time, as images do; each tower attends within a pair, and within two
seconds of audio.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.modeling_utils import PreTrainedModel

from service.media.item import MERGE_SIZE
from service.media.omni_media import FPS, RATE_HZ
from service.model.backbone import Grid, Probe, Tower
from service.model.stock.still_patches import StillPatches
from service.model.stock.stock_vlm import StockVlm
from service.outputs.plan import TokenPlan

AUDIO_S = 2.3
"""Seconds of the known audio: more than the tower attends to at once."""


class QwenOmni(StockVlm):
    """A `Backbone`.

    Args:
        stock: a `Qwen2_5OmniThinkerModel`.
        audio: arguments of the class that makes features of audio.
    """

    def __init__(self, stock: PreTrainedModel, patches: StillPatches, audio: Mapping[str, Any]) -> None:
        super().__init__(stock, patches, sees_videos=True)
        from transformers.models.whisper.feature_extraction_whisper import WhisperFeatureExtractor  # 0.2 s of a start

        config: Any = stock.config
        self.placeholder_ids = {**self.placeholder_ids, "audio": config.audio_token_id}
        self._audio, self._extractor = dict(audio), cast(Any, WhisperFeatureExtractor)(**audio)
        self._pair_step = patches.temporal / FPS * config.position_id_per_seconds

    @property
    def tower(self) -> Tower:
        """Both towers, and the numbers of what they are given."""
        modules = torch.nn.ModuleList([self.stock.visual, self.stock.audio_tower])
        config_json = f"{self.stock.config.audio_config.to_json_string()}{self._audio}"
        return Tower(modules, super().tower.config_json + config_json, self.width, self.dtype)

    def positions(self, num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
        """`[3, num_tokens]`: temporal, height, width. A pair that follows another at once is of the same video.

        Source: transformers 5.24 `get_rope_index` of Qwen2.5-Omni.
        """
        positions = np.tile(np.arange(num_tokens, dtype=np.int64), (3, 1))
        free = stop = start = pair = 0
        for offset, (_, *sides) in placeholders:
            rows, columns = (side // MERGE_SIZE for side in sides)
            if not rows:
                continue  # audio: as texts are numbered
            if offset != stop or not stop:
                pair, start = -1, free + offset - stop
                positions[:, stop:offset] = np.arange(free, start)
            pair, stop = pair + 1, offset + rows * columns
            time = start + int(pair * self._pair_step)
            positions[0, offset:stop] = time
            positions[1, offset:stop] = start + np.repeat(np.arange(rows), columns)
            positions[2, offset:stop] = start + np.tile(np.arange(columns), rows)
            free = max(time, start + max(rows, columns) - 1) + 1
        positions[:, stop:] = np.arange(free, free + num_tokens - stop)
        return positions

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """Features of an image, of a pair of frames, or of audio `[num_samples]`; `[tokens, hidden]`."""
        if pixels.ndim > 1:
            return super().encode(pixels)
        heard = self.stock.get_audio_features(*self._mel(pixels), return_dict=True).last_hidden_state
        return cast(torch.Tensor, heard.contiguous())

    def _mel(self, samples: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-mel features, `[1, mels, frames]`, and which of the frames are the audio's.

        The reference pads with silence to its longest audio, of which a window is enough.
        """
        hop, most = self._extractor.hop_length, self._extractor.n_samples
        more = max(0, most - len(samples) - self._extractor.n_fft) // hop * hop
        found = self._extractor(
            samples.cpu().numpy(),
            sampling_rate=RATE_HZ,
            max_length=most - more,
            return_attention_mask=True,
            return_tensors="pt",
        )
        return found["input_features"].to(self.device), found["attention_mask"].to(self.device)

    def probes(self) -> Sequence[Probe]:
        """Those of images and pairs of frames, and audio amid words."""
        config, words = self.stock.config, list(range(40, 52))
        times = np.arange(round(AUDIO_S * RATE_HZ)) / RATE_HZ
        samples = (0.4 * np.sin(2 * np.pi * (200 + 900 * times) * times)).astype(np.float32)
        num = len(self.encode(torch.from_numpy(samples)))
        ids = [*words, config.audio_start_token_id, *[config.audio_token_id] * num, *words]
        return [*super().probes(), Probe(TokenPlan(ids), None, len(words) + 1, num, (1, 1, num), samples)]

    def _media(self, probe: Probe) -> dict[str, torch.Tensor]:
        if probe.samples is not None:
            features, mask = self._mel(torch.from_numpy(probe.samples))
            return {"input_features": features, "feature_attention_mask": mask}
        found = super()._media(probe)
        if probe.pixels is None or probe.pixels.ndim == 3:
            return found
        return found | {"video_second_per_grid": torch.tensor([self._patches.temporal / FPS])}
