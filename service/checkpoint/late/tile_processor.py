"""The image processor of models that see tiles, read from its file. Both processes read it; it imports no torch.

Source: transformers 5.23 `Idefics3ImageProcessorPil`, `ModernVBertConfig`, `Idefics3Config`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError

LARGEST = 4_096
"""A longer side is shrunk to this by the processor, after the resize to `longest`."""
ALWAYS = ("do_resize", "do_rescale", "do_normalize", "do_convert_rgb", "do_image_splitting")
HALVES = [0.5, 0.5, 0.5]
DEFAULTS: Mapping[str, Any] = {
    "size": {"longest_edge": 4 * 364},
    "max_image_size": {"longest_edge": 364},
    "resample": 1,
    "image_mean": HALVES,
    "image_std": HALVES,
    **dict.fromkeys(ALWAYS, True),
}
TOWERS: Mapping[str, Mapping[str, Any]] = {
    "modernvbert": {"image_size": 224, "patch_size": 16, "pixel_shuffle_factor": 4},
    "idefics3": {"image_size": 224, "patch_size": 32, "scale_factor": 2},
}
"""By model_type: sizes of the tower and, last, the patches that a visual token joins along a side, where config.json
does not say."""


@dataclass(frozen=True, slots=True)
class TileProcessor:
    """Its numbers.

    Attributes:
        tile: side of a tile, pixels.
        longest: the longer side after the first resize, pixels.
        resample: Pillow's number of the filter.
    """

    tile: int
    longest: int
    resample: int

    @classmethod
    def read(cls, files: CheckpointFiles) -> "TileProcessor":
        """From processor_config.json as transformers 5 writes it, else from preprocessor_config.json."""
        said = files.processor().get("image_processor")
        said = said if isinstance(said, dict) else files.optional("preprocessor_config.json")
        found = {key: default if said.get(key) is None else said[key] for key, default in DEFAULTS.items()}
        for key, wanted in (("image_mean", HALVES), ("image_std", HALVES), *((key, True) for key in ALWAYS)):
            if found[key] != wanted:
                raise CheckpointError(f"the image processor's file has {key} {found[key]!r}; supported: {wanted!r}")
        longest, tile = (
            one.get("longest_edge") if isinstance(one, dict) else one
            for one in (found["size"], found["max_image_size"])
        )
        if type(longest) is not int or type(tile) is not int or not 1 <= tile <= longest <= LARGEST:
            raise CheckpointError(
                f"the image processor's file has sizes {found['size']!r} and {found['max_image_size']!r}; supported: a "
                f"longest_edge of each, the second's at most the first's, and that at most {LARGEST}"
            )
        if found["resample"] not in range(6):
            raise CheckpointError(f"the image processor's file has resample {found['resample']!r}; supported: 0 to 5")
        return cls(tile, longest, int(found["resample"]))


def inner_files(folder: Path) -> CheckpointFiles:
    """The files, config.json of which is its `vlm_config` where it has one."""
    return CheckpointFiles(folder, "vlm_config" if "vlm_config" in CheckpointFiles(folder).config else "")


def tile_tokens(folder: Path) -> int:
    """Visual tokens of a tile by config.json: ``(side / patch / factor)²``."""
    inner = inner_files(folder)
    defaults = TOWERS[str(inner.model_type)]
    vision, name = {**defaults, **inner.section("vision_config")}, [*defaults][-1]
    side, patch = positive(vision, "image_size"), positive(vision, "patch_size")
    factor = positive({**defaults, **inner.config}, name)
    if side % (patch * factor):
        raise CheckpointError(
            f"config.json has image_size {side}, patch_size {patch} and {name} {factor}; the first has to be a "
            "multiple of the others' product"
        )
    return (side // (patch * factor)) ** 2
