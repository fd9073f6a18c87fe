"""Each folder of the table has the scores of sentence-transformers' `CrossEncoder`, or is refused by name."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder

from service.checkpoint.errors import CheckpointError, UnsupportedModelError
from service.errors import ModelError
from tests.conftest import TOLERANCE
from tests.models.folders.judge_cases import JUDGES
from tests.models.folders.reranker_bases import BASES
from tests.models.folders.reranker_case import Case
from tests.models.folders.reranker_kind_cases import ARCHITECTURES
from tests.models.folders.reranker_settings_cases import ACTIVATIONS, LENGTHS, SETTINGS_OF_CLASSIFIERS
from tests.models.reranker.scored import Scored
from tests.models.text.texts import TEXTS

CASES = [*ACTIVATIONS, *LENGTHS, *SETTINGS_OF_CLASSIFIERS, *ARCHITECTURES, *JUDGES]
PAIRS = [
    *((TEXTS[i], TEXTS[i + 3]) for i in range(2, 6)),
    ("A question?", "An answer, and a longer one: " + " ".join(TEXTS[:4])),
    (" blanks at both ends\n", "\t and here \n"),
    ("", ""),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Each base is made once."""
    place = tmp_path_factory.mktemp("bases")

    def made(name: str) -> Path:
        folder = place / name.replace(", ", "-").replace(" ", "-")
        if not folder.exists():
            BASES[name](folder)
        return folder

    return made


@pytest.fixture
def folder(request: pytest.FixtureRequest, base: Callable[[str], Path], tmp_path: Path) -> Path:
    case: Case = request.param
    copied = tmp_path / case.folder
    shutil.copytree(base(case.base), copied)
    for edit in case.edits:
        edit(copied)
    return copied


def of(*, is_refused: bool) -> pytest.MarkDecorator:
    cases = [case for case in CASES if (case.refused is not None) is is_refused]
    return pytest.mark.parametrize(
        ("folder", "case"), [(case, case) for case in cases], indirect=["folder"], ids=[case.name for case in cases]
    )


@of(is_refused=False)
def test_scores_are_the_references(folder: Path, case: Case) -> None:
    scored = Scored(folder)
    options = {"model_kwargs": {"attn_implementation": "eager", "dtype": torch.float32}}
    theirs = CrossEncoder(str(folder), device="cpu", **options).predict(PAIRS)
    ours = scored.scores([scored.text_prompt(*pair) for pair in PAIRS])
    assert np.abs(ours - theirs).max() <= TOLERANCE
    assert np.ptp(theirs) > 100 * TOLERANCE


@of(is_refused=True)
def test_what_would_be_another_score_is_refused_by_file_and_key(folder: Path, case: Case) -> None:
    with pytest.raises((CheckpointError, UnsupportedModelError, ModelError), match=f"(?s){case.refused}"):
        Scored(folder)
