"""Images of Mistral 3: lines of visual tokens, each with a token at its end. Both processes read the numbers.

Source: transformers 5.24 `PixtralImageProcessorPil`, `PixtralProcessor.replace_image_token`, `Mistral3Config`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.image_processor import Scaling
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.image_block import LineBlock
from service.media.gemma_media import read_part
from service.media.item import GridThw, Patches, Size
from service.media.resize.budget_rule import BudgetRule

TOKENS = {"image_token": "[IMG]", "image_break_token": "[IMG_BREAK]", "image_end_token": "[IMG_END]"}
"""Keys of processor_config.json, and what they are without it."""
IMAGE_IDS = ("image_token_id", "image_token_index")
"""Names in config.json of one number, which is 10 without them."""
SCALING = Scaling(1 / 255, (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
DEFAULTS = {"size": {"longest_edge": 1024}, "resample": 3}
ALWAYS: Mapping[str, object] = {
    **dict.fromkeys(("do_resize", "do_rescale", "do_normalize", "do_convert_rgb"), True),
    "do_center_crop": False,
    "rescale_factor": SCALING.factor,
    "image_mean": [*SCALING.mean],
    "image_std": [*SCALING.std],
}
"""Values of the image processor that are supported."""


class LinePatches(Patches):
    """Visual tokens in lines. The token at the end of each counts with those of the image: it has features, too."""

    @property
    def formula(self) -> str:
        """Of `num_tokens`, for errors."""
        return "H x (W + 1)"

    def num_tokens(self, grid_thw: GridThw) -> int:
        """As `formula` says."""
        return grid_thw[1] * (grid_thw[2] + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRule(BudgetRule):
    """An `ImageRule`."""

    longest: int
    """The longer side of an image at most, pixels, before both are rounded up to whole visual tokens."""
    block: LineBlock
    """The tokens of an image."""

    @classmethod
    def read(cls, files: CheckpointFiles) -> "LineRule":
        """From the files of processor, tokenizer and configuration."""
        said, image = files.processor(), read_part(files, "image_processor", DEFAULTS, ALWAYS, "PixtralImageProcessor")
        ids = files.special_tokens({key: str(said.get(key, token)) for key, token in TOKENS.items()})
        patch = positive({"patch_size": 16, **files.section("vision_config")}, "patch_size")
        merge = positive({"spatial_merge_size": 2, **files.config}, "spatial_merge_size")
        here = patch, merge, {files.config[key] for key in IMAGE_IDS if key in files.config} or {10}
        there = said.get("patch_size", 16), said.get("spatial_merge_size", 1), {ids["image_token"]}
        if here != there:
            raise CheckpointError(
                f"config.json has patch_size, spatial_merge_size and {IMAGE_IDS[1]} {here}, and processor_config.json "
                f"and tokenizer.json {there}"
            )
        size, resample = image["size"], image["resample"]
        longest = size.get("longest_edge") if isinstance(size, dict) and len(size) == 1 else None
        if type(longest) is not int or longest < 1 or resample not in range(6):
            found = f"size {size!r} and resample {resample!r}"
            raise CheckpointError(f"the image processor has {found}; supported: a longest_edge, and 0 to 5")
        block = LineBlock(*(ids[key] for key in TOKENS))
        return cls(patch_size=patch, pooling=merge, resample=resample, longest=longest, block=block)

    @property
    def patches(self) -> Patches:
        """Visual tokens."""
        return LinePatches(self.patch_size * self.pooling, 1)

    @property
    def max_pixels(self) -> int:
        """Those of the largest square."""
        return self.size(self.longest, self.longest)[0] ** 2

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """The numbers, after the rule's name."""
        numbers = (self.patch_size, self.pooling, self.longest, self.resample)
        return (b"lines", *(number.to_bytes(8, "little") for number in numbers))

    def size(self, height: int, width: int) -> Size:
        """``ceil(floor(side / r) / unit) · unit`` of both sides, r the longer side over the longest one, at least 1."""
        unit, ratio = self.patch_size * self.pooling, max(height / self.longest, width / self.longest, 1)
        rows, columns = (math.ceil(max(1, math.floor(side / ratio)) / unit) * unit for side in (height, width))
        return rows, columns
