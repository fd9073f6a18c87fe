"""Each folder of the table has the scores of sentence-transformers' `CrossEncoder`, or is refused by name."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder

from service.checkpoint.errors import CheckpointError, UnsupportedModelError
from service.cli import main
from service.engine.startup.self_check import check_forward, known_answers
from service.errors import InputError, ModelError
from service.model.architectures import load_model
from service.prompt.conversation import Turn
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.folders.edits import put
from tests.models.folders.judge_cases import JUDGES
from tests.models.folders.reranker_bases import BASES, INSTRUCTED
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


def test_an_instruction_is_a_system_turn_where_the_template_has_a_place_for_it(
    base: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(base("judge, saved"), folder)
    pairs, task = PAIRS[:4], "Find the other half."
    with pytest.raises(InputError, match="no place for it"):
        Scored(folder).prompt(Turn("query", ("a",)), Turn("document", ("b",)), task)
    (folder / "chat_template.jinja").write_text(INSTRUCTED)
    scored = Scored(folder)
    assert scored.profile.takes_instructions
    theirs = CrossEncoder(str(folder), device="cpu").predict(pairs, prompt=task)
    prompts = [scored.prompt(Turn("query", (query,)), Turn("document", (text,)), task) for query, text in pairs]
    assert np.abs(scored.scores(prompts) - theirs).max() <= TOLERANCE


@pytest.mark.parametrize("name", ["judge, saved", "llama classifier", "eurobert"])
def test_the_check_at_start_passes(base: Callable[[str], Path], name: str) -> None:
    scored = Scored(base(name))
    profile = scored.profile
    model = load_model(profile.architecture, scored.folder, torch.device("cpu"), torch.float32, profile.pooling)
    check_forward(scored.model, known_answers(model))


def test_the_command_models_says_what_the_load_says(
    base: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A family that is named changes nothing: an embedder would drop what makes the scores."""
    folder = tmp_path / "jina-reranker-v3"
    shutil.copytree(base("judge"), folder)
    put("config.json", architectures=["JinaForRanking"])(folder)
    for family in ([], ["--family", "qwen3"]):
        monkeypatch.setattr("sys.argv", ["cenote", "models", str(folder), *family])
        with pytest.raises(SystemExit):
            main()
        said = capsys.readouterr().err
        with pytest.raises(UnsupportedModelError) as refused:
            load_profile(folder, *family[1:])
        assert str(refused.value) in said
        assert "Supported rerankers: cross-encoders" in said
        assert "unread_tensors" not in said


@of(is_refused=True)
def test_what_would_be_another_score_is_refused_by_file_and_key(folder: Path, case: Case) -> None:
    with pytest.raises((CheckpointError, UnsupportedModelError, ModelError), match=f"(?s){case.refused}"):
        Scored(folder)
