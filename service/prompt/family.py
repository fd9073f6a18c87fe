"""A model family: which checkpoints are of it, and how its profile is made. One page of `families/` each."""

from collections.abc import Callable
from dataclasses import dataclass

from service.prompt.checkpoint_files import CheckpointFiles
from service.prompt.profile import Profile


def _always(_: CheckpointFiles) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Family:
    """What `detect.load_profile` goes by.

    Attributes:
        model_types: of config.json.
        about: which models these are, for the message that lists what is supported.
        make_profile: raises UnsupportedModelError where the files are not as the family needs them.
        is_of: tells families of one model type apart by their files.
        rank: of several families that fit, the highest is taken.
    """

    model_types: tuple[str, ...]
    about: str
    make_profile: Callable[[CheckpointFiles], Profile]
    is_of: Callable[[CheckpointFiles], bool] = _always
    rank: int = 0
