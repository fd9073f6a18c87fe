"""Folders whose files disagree or say more than is read: equal to their reference, or refused by file and key."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer

from service.checkpoint.hub import find_checkpoint
from service.checkpoint.json_files import CheckpointError
from service.cli import main
from service.errors import InputError, ModelError
from service.prompt.build import PromptBuilder
from service.prompt.detect import load_profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from tests.conftest import TOLERANCE
from tests.models.folders import bases
from tests.models.folders.bases import IDENTITY, INSTRUCTED, NAMES, SIGMOID, TOKENIZER
from tests.models.folders.edits import put, read, write
from tests.models.folders.embedders import EQUAL, REFUSED
from tests.models.folders.others import OTHERS
from tests.models.folders.rerankers import RERANKERS
from tests.models.folders.row import Row
from tests.models.served import Served, load
from tests.models.text.checkpoints import reference
from tests.models.text.texts import TEXTS as SAMPLES

TEXTS = [
    "The KITTEN purrs when somebody strokes it behind the ears, bread and tea, " * 2,
    "École 快速 x",
    "a bread b",
    ".",
]
PAIRS = [
    *((SAMPLES[i], SAMPLES[i + 3]) for i in range(2, 6)),
    ("A question?", "An answer, and a longer one: " + " ".join(SAMPLES[:4])),
    (" blanks at both ends\n", "\t and here \n"),
    ("", ""),
]
Base = Callable[[str], Path]
ROWS = [*EQUAL, *REFUSED, *RERANKERS, *OTHERS]


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """Each base, made when it is first asked for."""
    place = tmp_path_factory.mktemp("bases")
    return lambda name: bases.made(name, place)


@pytest.fixture
def folder(request: pytest.FixtureRequest, base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    row: Row = request.param
    return row.make(base(row.base), tmp_path)


def rows(found: list[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("folder", "row"), [(row, row) for row in found], indirect=["folder"], ids=[row.name for row in found]
    )


@rows(EQUAL)
def test_an_embedders_vectors_are_the_references(folder: Path, row: Row) -> None:
    theirs = reference(folder).encode(TEXTS, batch_size=2)
    assert np.abs(Served(folder).texts(TEXTS, side="right") - theirs).max() <= TOLERANCE


@rows([row for row in RERANKERS if row.says is None])
def test_a_rerankers_scores_are_the_references(folder: Path, row: Row) -> None:
    served, options = Served(folder), {"model_kwargs": {"attn_implementation": "eager", "dtype": torch.float32}}
    theirs = CrossEncoder(str(folder), device="cpu", **options).predict(PAIRS)
    assert np.abs(served.scores([served.pair(*pair) for pair in PAIRS]) - theirs).max() <= TOLERANCE
    assert np.ptp(theirs) > 100 * TOLERANCE


@rows([row for row in ROWS if row.says is not None])
def test_what_would_be_something_else_is_refused_by_file_and_key(folder: Path, row: Row) -> None:
    with pytest.raises((CheckpointError, ModelError), match=f"(?s){row.says}"):
        start(folder, row)


def start(folder: Path, row: Row) -> None:
    """Run the front, and the engine where only that refuses."""
    found = Path(find_checkpoint(str(folder), None).folder)
    profile = load_profile(found, row.family)
    PromptBuilder(profile, PromptTokenizer(found, lower_case=profile.lower_case, markers=profile.markers))
    assert row.at_load, "the front takes it"
    load(found, row.family)


QWEN_HEAD = {"bos_token": "<|im_start|>"}
HEAD = {"qwen3": QWEN_HEAD, "qwen2, both ways": QWEN_HEAD, "mistral": {}, "llama": {}, "gemma3_text": {}}
FLAGS = {"add_bos_token": True, "add_eos_token": True}


@pytest.mark.parametrize("name", HEAD)
@pytest.mark.parametrize("has_head", [True, False])
def test_an_end_that_a_flag_asks_for_is_added(name: str, has_head: bool, base: Base, tmp_path: Path) -> None:
    """As E5-Mistral is released: transformers 5 drops the flags of its file, and obeys them where they are given."""
    template = read(base(name), "tokenizer.json")["post_processor"]
    first = next(i for i, piece in enumerate(template["single"]) if "Sequence" in piece)
    single = template["single"][0 if has_head else first : first + 1]
    edits = [put(TOKENIZER, **FLAGS, **HEAD[name]), put("tokenizer.json", post_processor=template | {"single": single})]
    folder = Row("", name, edits).make(base(name), tmp_path)
    served = Served(folder)
    theirs = SentenceTransformer(str(folder), device="cpu", processor_kwargs=dict(FLAGS))
    assert served.tokenizer.id_to_token(served.prompt("x").plan.ids[-1]) == read(folder, TOKENIZER)["eos_token"]
    assert np.abs(served.texts(TEXTS, side="right") - theirs.encode(TEXTS, batch_size=2)).max() <= TOLERANCE


def test_an_instruction_is_a_system_turn_where_the_template_has_a_place_for_it(base: Base, tmp_path: Path) -> None:
    folder, pairs, task = tmp_path / "folder", PAIRS[:4], "Find the other half."
    shutil.copytree(base("judge, saved"), folder)
    with pytest.raises(InputError, match="no place for it"):
        Served(folder).pair("a", "b", task)
    write("chat_template.jinja", INSTRUCTED)(folder)
    served = Served(folder)
    assert served.profile.takes_instructions
    theirs = CrossEncoder(str(folder), device="cpu").predict(pairs, prompt=task)
    assert np.abs(served.scores([served.pair(*pair, task) for pair in pairs]) - theirs).max() <= TOLERANCE


def test_the_command_models_says_what_the_load_says(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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
        with pytest.raises(CheckpointError) as refused:
            load_profile(folder, *family[1:])
        assert str(refused.value) in said
        assert "Supported rerankers: " in said
        assert "unread_tensors" not in said


@pytest.mark.parametrize(("activation", "said"), [(SIGMOID, "sigmoid"), (IDENTITY, "identity")])
def test_the_command_models_says_what_a_score_is(
    activation: str,
    said: str,
    base: Base,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "ettin-reranker"
    shutil.copytree(base("ettin"), folder)
    put(NAMES, activation_fn=activation)(folder)
    monkeypatch.setattr("sys.argv", ["cenote", "models", str(folder)])
    with pytest.raises(SystemExit):
        main()
    plan = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert (plan["profile"], plan["pooling"], plan["scores"]) == ("modular-reranker", "cls", said)
