"""Frames of a video that are seen one by one: at a rate from the first frame on, each at an image's size.

Source: transformers 5.24 `EmbeddingGemma2VideoProcessor.sample_frames`.
"""

from dataclasses import dataclass

import numpy as np

from service.media.error_location import ErrorLocation
from service.media.item import Size
from service.media.resize.budget_rule import BudgetRule
from service.media.video.video_rule import VideoRule


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRule(VideoRule):
    """A `VideoRule` without pairs, areas and a least number of frames."""

    frames_of_item: int = 1
    is_antialiased: bool = False
    budget: BudgetRule
    """Of each frame."""
    keeps_first: bool = False
    """Of too many frames the first are kept; else as many at equal steps."""

    def first_size(self, height: int, width: int, location: ErrorLocation) -> Size:
        """The stored size: frames are resized once."""
        return height, width

    def frame_size(self, height: int, width: int, num_frames: int, *, of_file: bool = False) -> Size:
        """The budget's, however many frames there are."""
        return self.budget.size(height, width)

    def of_list(self, num_frames: int, most: int) -> list[int]:
        """All frames of a list, whose rate the reference does not know, or as many as allowed."""
        return self._cut(list(range(num_frames)), most)

    def of_file(self, frames: range, file_fps: float, fps: float, most: int) -> list[int]:
        """``min(n - 1, int(i · (file_fps / fps)))``, for each i below ``max(1, int(n / file_fps · fps))``."""
        step, num_taken = file_fps / fps, max(1, int(len(frames) / file_fps * fps))
        taken = [min(len(frames) - 1, int(i * step)) for i in range(num_taken)]
        return [frames[i] for i in self._cut(taken, most)]

    def _cut(self, numbers: list[int], most: int) -> list[int]:
        if len(numbers) <= most:
            return numbers
        if self.keeps_first:
            return numbers[:most]
        return [numbers[int(i)] for i in np.linspace(0, len(numbers) - 1, most)]
