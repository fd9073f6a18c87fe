"""The picture rule of a two-tower model, from its image processor's file. Chooses no size: the rule does."""

from service.media.naflex_rule import NaflexRule
from service.media.square_rule import SquareRule
from service.model.image_processor import FILE, read_image_processor
from service.prompt.checkpoint_files import CheckpointFiles, positive
from service.prompt.profile import UnsupportedModelError


def square_rule(files: CheckpointFiles, image_size: int) -> SquareRule:
    """How pictures become the square that the model sees.

    Args:
        files: the checkpoint's.
        image_size: side of the square by config.json.

    Raises:
        UnsupportedModelError: the file makes other sizes.
        CheckpointError: it is missing, damaged, or asks for what is not supported.
    """
    values = read_image_processor(files.folder, files.model_type)
    edge, is_squashed = _resize(values["size"])
    crops = bool(values.get("do_center_crop"))
    crop = values.get("crop_size")
    side = _square(crop, "crop_size") if crops else edge
    if side != image_size or not (crops or is_squashed):
        raise UnsupportedModelError(
            f"{FILE} has size {values['size']!r}"
            + (f" and crop_size {crop!r}" if crops else " and no crop")
            + f"; the model sees squares of {image_size} pixels"
        )
    return SquareRule(side=side, edge=edge, is_squashed=is_squashed, resample=values["resample"])


def naflex_rule(files: CheckpointFiles, patch_size: int) -> NaflexRule:
    """How many patches pictures become.

    Args:
        files: the checkpoint's.
        patch_size: by config.json.

    Raises:
        UnsupportedModelError: the patches are of another size.
        CheckpointError: the file is missing, damaged, or asks for what is not supported.
    """
    values = read_image_processor(files.folder, files.model_type)
    if values["patch_size"] != patch_size:
        raise UnsupportedModelError(f"{FILE} has patch_size {values['patch_size']!r}, and config.json {patch_size}")
    most = positive(values, "max_num_patches")
    return NaflexRule(patch_size=patch_size, max_num_patches=most, resample=values["resample"])


def _resize(size: object) -> tuple[int, bool]:
    """The length asked for, and whether of both sides. A number alone is of the shorter side."""
    if isinstance(size, int):
        return size, False
    if isinstance(size, dict) and set(size) == {"shortest_edge"}:
        return positive(size, "shortest_edge"), False
    return _square(size, "size"), True


def _square(size: object, name: str) -> int:
    if type(size) is int and size > 0:
        return size
    if isinstance(size, dict) and set(size) == {"height", "width"} and size["height"] == size["width"]:
        return positive(size, "height")
    raise UnsupportedModelError(f"{FILE} has {name} {size!r}; supported: shortest_edge, or equal height and width")
