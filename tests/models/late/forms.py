"""Every form in which models of pages are released, each with its reference: a row is its test."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.models.late import checkpoints, engine_checkpoints, references
from tests.models.late.colmodernvbert_checkpoint import colmodernvbert
from tests.models.late.references import PageReference
from tests.models.late.sentence_pages import SentenceReference, SentencesColQwen, with_sentence_files

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


def _both_ways(folder: Path) -> Path:
    """As vLLM's makers say it."""
    return checkpoints.colqwen3_5(folder, retrieval_attention_contract="bidirectional")


def _tomoro(folder: Path) -> Made:
    same = checkpoints.colqwen3(folder / "same weights")
    return checkpoints.tomoro(folder / "tomoro-colqwen3-embed-4b"), references.TomoroReference(same)


def _ops(folder: Path) -> Made:
    same = checkpoints.colqwen3(folder / "same weights")
    dims = references.OpsReference.dimensions or 0
    return checkpoints.ops(folder / "Ops-Colqwen3-4B", dims), references.OpsReference(same)


def _colpali(folder: Path) -> Made:
    found = engine_checkpoints.hf_colpali(folder / "colpali-v1.3-hf")
    return found, references.ColPaliReference(found)


def _older_colpali(folder: Path) -> Made:
    found, reference = _colpali(folder)
    return engine_checkpoints.older_names(found), reference


def _colqwen_with_sentence_files(folder: Path) -> Made:
    found = with_sentence_files(checkpoints.colqwen2_5(folder / "merged-small"))
    return found, SentencesColQwen(found)


def _with_sentence_files(make: Callable[[Path], Path], words: str = "") -> Callable[[Path], Made]:
    def made(folder: Path) -> Made:
        found = with_sentence_files(make(folder / "merged-small"), words)
        return found, SentenceReference(found)

    return made


def _colmodernvbert(*, begins: bool) -> Callable[[Path], Made]:
    def made(folder: Path) -> Made:
        found = colmodernvbert(folder / "colmodernvbert", begins=begins)
        return found, references.ColModernVBertReference(found)

    return made


ENGINE, ENGINE_3 = references.EngineReference, references.ColQwen3Reference
COLPALI, COLSMOL = engine_checkpoints.colpali, engine_checkpoints.colsmol
SQUARE = (engine_checkpoints.SIDE // engine_checkpoints.PATCH) ** 2
WIDE = checkpoints.DIMENSIONS_3
FORMS: dict[str, Form] = {
    "colqwen2 of transformers": Form(_hf(checkpoints.hf_colqwen2), "colqwen2"),
    "colqwen2.5 of transformers": Form(_hf(checkpoints.hf_colqwen2_5), "colqwen2"),
    "colqwen2": Form(_merged(checkpoints.colqwen2, ENGINE), "colqwen2", recorded="colqwen2"),
    "colqwen2.5": Form(_merged(checkpoints.colqwen2_5, ENGINE), "colqwen2.5", recorded="colqwen2.5"),
    "colqwen2.5 adapter": Form(_adapter(_old_base, ENGINE), "colqwen2.5", recorded="colqwen2.5 adapter"),
    "colqwen3": Form(_merged(checkpoints.colqwen3, ENGINE_3), "colqwen3", WIDE, "colqwen3"),
    "colqwen3 adapter": Form(_adapter(checkpoints.colqwen3, ENGINE_3), "colqwen3", WIDE, "colqwen3 adapter"),
    "colqwen3.5": Form(_merged(checkpoints.colqwen3_5, ENGINE_3), "colqwen3.5", recorded="colqwen3.5"),
    "colqwen3.5 adapter": Form(_adapter(checkpoints.colqwen3_5, ENGINE_3), "colqwen3.5"),
    "colqwen3.5, both ways": Form(_merged(_both_ways, references.BothWaysReference), "colqwen3.5"),
    "tomoro": Form(_tomoro, "colqwen3", WIDE, most=1_280),
    "ops": Form(_ops, "colqwen3", 256),
    "colpali of transformers": Form(_colpali, "colpali", most=SQUARE),
    "colpali of transformers, older names": Form(_older_colpali, "colpali", most=SQUARE),
    "colpali": Form(_merged(COLPALI, references.EnginesColPali), "colpali", recorded="colpali", most=SQUARE),
    "colpali adapter": Form(_adapter(COLPALI, references.EnginesColPali), "colpali", most=SQUARE),
    "colsmol": Form(_merged(COLSMOL, references.EnginesColSmol), "colsmol", recorded="colsmol", most=0),
    "colsmol adapter": Form(_adapter(COLSMOL, references.EnginesColSmol), "colsmol", most=0),
    "colqwen2.5, sentence-transformers": Form(_colqwen_with_sentence_files, "colqwen2.5"),
    "colpali, sentence-transformers": Form(_with_sentence_files(COLPALI, "paligemma"), "colpali", most=SQUARE),
    "colsmol, sentence-transformers": Form(_with_sentence_files(COLSMOL), "colsmol", most=0),
    "colmodernvbert": Form(_colmodernvbert(begins=False), "colmodernvbert", most=0),
    "colmodernvbert, its beginning is a token": Form(_colmodernvbert(begins=True), "colmodernvbert", most=0),
}
