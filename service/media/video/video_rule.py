"""Frames of a video that a model takes, their size and times: the numbers of a family and the formulas over them.

In: how many frames there are, and their size. Out: indices, a size, times. Reads no file and knows no pixel.

Source: docs/notes/qwen3-vl-embedding.md; qwen-vl-utils 0.0.14, `fetch_video` and `smart_nframes`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from service.media.error_location import ErrorLocation
from service.media.item import FRAMES_OF_PAIR, QWEN3_VL, Patches, Size
from service.media.resize.image_rule import PixelRule, fit_area

FPS_OF_LIST = 2.0
"""Frames a second of a list that does not say, as the reference assumes."""


REFERENCE_FILE_PIXELS = 117_964_800
"""The reference's budget for a file: 0.9 · 128,000 tokens."""

FIRST_RESIZE = PixelRule(factor=64, min_pixels=16_384, max_pixels=67_108_864)
"""The reference passes a factor where a patch size is expected: each frame of a list goes to multiples of 64 by Pillow,
and only then to its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoRule:
    """The numbers of one family. Its sizes are part of every frame's key.

    Source: docs/notes/qwen3-vl-embedding.md, "Videos".
    """

    max_frames: int = 64
    """Most frames that the model sees."""
    min_frames: int = 4
    """Fewest frames taken of a file, where it has so many."""
    fps: float = 1.0
    """Frames taken of each second of a file."""
    patches: Patches = QWEN3_VL
    """Patch and token sizes: both sides are multiples of a visual token's."""
    total_pixels: int = 7_864_320
    """Largest area of all frames of a list together; a pair counts once."""
    total_file_pixels: int = 7_864_320
    """Likewise for a file. The reference itself gives files 117,964,800, and then fails for those that come to more
    tokens than it reads: 64 frames of 768 tokens."""
    min_frame_pixels: int = 131_072
    """A smaller frame is enlarged to at least this area."""
    max_frame_pixels: int = 786_432
    """Largest area of a frame, however few there are."""
    first: PixelRule = FIRST_RESIZE
    """The resize of a list's frames before that."""
    frames_of_item: int = FRAMES_OF_PAIR
    """Frames that the model sees as one."""
    is_antialiased: bool = True
    """Frames are resized as torch does it in float32, and not by Pillow."""

    @property
    def size_factor(self) -> int:
        """Pixels along one side of a visual token, of which sides are multiples."""
        return self.patches.patch_size * (self.patches.merge_size or 1)

    def first_size(self, height: int, width: int, location: ErrorLocation) -> Size:
        """The size of a list's frame after its first resize."""
        return self.first.plan(height, width, location).size

    def frame_size(self, height: int, width: int, num_frames: int, *, of_file: bool = False) -> Size:
        """Height and width of each frame as it is seen, whole visual tokens; 0 for a side of an extreme shape.

        ``max = max(min(max_frame, total / n · 2), 1.05 · min_frame)``; never above `max_frame_pixels`.
        """
        total = self.total_file_pixels if of_file else self.total_pixels
        share = min(self.max_frame_pixels, total / num_frames * FRAMES_OF_PAIR)
        max_pixels = min(max(share, int(self.min_frame_pixels * 1.05)), self.max_frame_pixels)
        return fit_area(height, width, self.size_factor, self.min_frame_pixels, max_pixels)

    def sample_list(self, num_frames: int, max_frames: int | None = None) -> list[int]:
        """Choose the frames of a list.

        Args:
            num_frames: how many there are, at least 1.
            max_frames: a lower limit than the family's; None takes the family's.
        """
        return self.of_list(num_frames, max_frames or self.max_frames)

    def of_list(self, num_frames: int, most: int) -> list[int]:
        """All, or as many as allowed at equal steps from first to last, cut to int."""
        if num_frames <= most:
            return list(range(num_frames))
        return [int(i) for i in np.linspace(0, num_frames - 1, most)]

    def sample_file(
        self, frames: range, file_fps: float, fps: float | None = None, max_frames: int | None = None
    ) -> list[int]:
        """Choose frames of a part of a file: their numbers in it, ascending; whole items, and at least one.

        Args:
            frames: numbers of all frames of the part, at least 2, as `frames_between` gives them.
            fps: frames to take of each second; None takes the family's.
            max_frames: a lower limit than the family's; None takes the family's. At least 2.
        """
        return self.of_file(frames, file_fps, fps or self.fps, min(self.max_frames, max_frames or self.max_frames))

    def of_file(self, frames: range, file_fps: float, fps: float, most: int) -> list[int]:
        """``n = duration · fps`` in its bounds, even, at equal steps, rounded."""
        wanted, most = len(frames) / file_fps * fps, min(most, len(frames))
        num_taken = int(min(max(wanted, self.min_frames), most)) // FRAMES_OF_PAIR * FRAMES_OF_PAIR
        taken = np.linspace(frames[0], frames[-1], max(num_taken, FRAMES_OF_PAIR))
        return [round(i) for i in taken.tolist()]


def frames_between(num_frames: int, fps: float, start_s: float | None, end_s: float | None) -> range:
    """Numbers of a file's frames between two times, ``ceil(start · fps)`` to ``floor(end · fps)``, both included.

    Times beyond the end are the end's; the range is empty where no frame lies between them.

    Args:
        num_frames: of the whole file.
        start_s: seconds from the file's start; None is the start.
        end_s: likewise; None is the end.

    Source: qwen-vl-utils 0.0.14, `calculate_video_frame_range`.
    """
    duration_s = num_frames / fps
    first = 0 if start_s is None else math.ceil(min(start_s, duration_s) * fps)
    last = num_frames - 1 if end_s is None else min(math.floor(min(end_s, duration_s) * fps), num_frames - 1)
    return range(first, max(first, last + 1))


def item_times(indices: Sequence[float], fps: float, frames_of_item: int = FRAMES_OF_PAIR) -> tuple[float, ...]:
    """Return the time of each item in seconds: the mean of its frames' times.

    Source: transformers 4.57.3, `Qwen3VLProcessor._calculate_timestamps`.
    """
    times = [index / fps for index in indices]
    items = (times[i : i + frames_of_item] for i in range(0, len(times), frames_of_item))
    return tuple(sum(item) / frames_of_item for item in items)
