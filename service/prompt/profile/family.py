"""A model family: which checkpoints belong to it, how its profile is made, and its row of docs/models.md."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from service.checkpoint.config_files import CheckpointFiles
from service.prompt.profile.profile import Profile

Kind = Literal["vision-language", "late interaction", "text", "sparse", "two towers", "images", "reranker"]


def always(_: CheckpointFiles) -> bool:
    """True: `model_type` says enough."""
    return True


@dataclass(frozen=True, slots=True)
class Difference:
    """A case in which vectors differ from the reference's on purpose."""

    what: str
    reference: str
    here: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One model family, by which `detect.load_profile` chooses.

    Attributes:
        about: its models, for error messages and docs/models.md.
        make_profile: raises CheckpointError where the files are not as the family needs them.
        named: beginnings of words in a checkpoint's name that tell families of one model type apart.
        is_of: tells them apart by their files.
        rank: of several families that fit, the highest is taken.
        kind: table of docs/models.md.
        stock: class in transformers, for docs/models.md; so are the fields below.
        modalities: what an item may hold.
        pooling: which hidden state becomes the vector.
        prompt: what stands around a text or an image.
        tests: files or folders that compare the family with its reference.
    """

    model_types: tuple[str, ...]
    about: str
    make_profile: Callable[[CheckpointFiles], Profile]
    named: tuple[str, ...] = ()
    is_of: Callable[[CheckpointFiles], bool] = always
    rank: int = 0
    kind: Kind
    stock: str
    modalities: str = "text"
    pooling: str
    prompt: str
    tests: tuple[str, ...]
    differences: tuple[Difference, ...] = ()

    def fits(self, files: CheckpointFiles) -> bool:
        """True where the files belong to a model of the family."""
        is_named = not self.named or files.is_called(*self.named)
        return files.model_type in self.model_types and is_named and self.is_of(files)


page_family = partial(
    Family,
    kind="late interaction",
    modalities="text or image (a query, a page)",
    pooling="none: 128 numbers for each token",
    tests=("tests/models/late/",),
)
"""A `Family` of late interaction over pages."""
