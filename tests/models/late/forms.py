"""Every form in which models of pages are released, each with its reference: a row is its test."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.models.late import checkpoints, references
from tests.models.late.colmodernvbert_checkpoint import colmodernvbert
from tests.models.late.references import PageReference

Made = tuple[Path, PageReference]


@dataclass(frozen=True)
class Form:
    """One of them.

    Attributes:
        make: writes it into a folder; the folder that is served, and its reference.
        profile: the family's name.
        dimensions: of a vector.
        recorded: its name among the vectors that colpali-engine itself gave.
        most: visual tokens of the largest page; 0 where pages are tiled.
    """

    make: Callable[[Path], Made]
    profile: str
    dimensions: int = checkpoints.DIMENSIONS
    recorded: str = ""
    most: int = checkpoints.MAX_PAGE_TOKENS


def _hf(make: Callable[[Path], Path]) -> Callable[[Path], Made]:
    def made(folder: Path) -> Made:
        found = make(folder / "late-small")
        return found, references.ColQwen2Reference(found)

    return made


def _merged(make: Callable[[Path], Path], reference: type[references.EngineReference]) -> Callable[[Path], Made]:
    def made(folder: Path) -> Made:
        found = make(folder / "merged-small")
        return found, reference(found)

    return made


def _adapter(base: Callable[[Path], Path], reference: type[references.EngineReference]) -> Callable[[Path], Made]:
    def made(folder: Path) -> Made:
        below = base(folder / "base-small")
        found = checkpoints.adapter(folder / "adapter-small", below)
        return found, reference(below, found)

    return made


def _old_base(folder: Path) -> Path:
    """As it was written when ColQwen2.5 came out."""
    return checkpoints.colqwen2_5(folder, old_names=True)


def _tomoro(folder: Path) -> Made:
    same = checkpoints.colqwen3(folder / "same weights")
    return checkpoints.tomoro(folder / "tomoro-colqwen3-embed-4b"), references.TomoroReference(same)


def _ops(folder: Path) -> Made:
    same = checkpoints.colqwen3(folder / "same weights")
    dims = references.OpsReference.dimensions or 0
    return checkpoints.ops(folder / "Ops-Colqwen3-4B", dims), references.OpsReference(same)


def _colmodernvbert(*, begins: bool) -> Callable[[Path], Made]:
    def made(folder: Path) -> Made:
        found = colmodernvbert(folder / "colmodernvbert", begins=begins)
        return found, references.ColModernVBertReference(found)

    return made


ENGINE, ENGINE_3 = references.EngineReference, references.ColQwen3Reference
WIDE = checkpoints.DIMENSIONS_3
FORMS: dict[str, Form] = {
    "colqwen2 of transformers": Form(_hf(checkpoints.hf_colqwen2), "colqwen2"),
    "colqwen2.5 of transformers": Form(_hf(checkpoints.hf_colqwen2_5), "colqwen2"),
    "colqwen2": Form(_merged(checkpoints.colqwen2, ENGINE), "colqwen2", recorded="colqwen2"),
    "colqwen2.5": Form(_merged(checkpoints.colqwen2_5, ENGINE), "colqwen2.5", recorded="colqwen2.5"),
    "colqwen2.5 adapter": Form(_adapter(_old_base, ENGINE), "colqwen2.5", recorded="colqwen2.5 adapter"),
    "colqwen3": Form(_merged(checkpoints.colqwen3, ENGINE_3), "colqwen3", WIDE, "colqwen3"),
    "colqwen3 adapter": Form(_adapter(checkpoints.colqwen3, ENGINE_3), "colqwen3", WIDE, "colqwen3 adapter"),
    "tomoro": Form(_tomoro, "colqwen3", WIDE, most=1_280),
    "ops": Form(_ops, "colqwen3", 256),
    "colmodernvbert": Form(_colmodernvbert(begins=False), "colmodernvbert", most=0),
    "colmodernvbert, its beginning is a token": Form(_colmodernvbert(begins=True), "colmodernvbert", most=0),
}
