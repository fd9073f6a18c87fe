"""What decoders' files may leave open or say twice: config.json's keys about masks and pooling."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.folders.edits import Edit, put, remove
from tests.models.text.conftest import ServedText
from tests.models.text.texts import TEXTS

Make = Callable[..., Path]
OWN = {"AutoModel": "modeling_own.Model"}
POOLING = "1_Pooling/config.json"


@pytest.fixture
def make(served: Callable[[str], ServedText], tmp_path: Path) -> Make:
    def make(name: str, *edits: Edit) -> Path:
        folder = tmp_path / "folder"
        shutil.copytree(served(name).folder, folder)
        for edit in edits:
            edit(folder)
        return folder

    return make


def config(**keys: Any) -> Edit:
    return put("config.json", **keys)


REFUSED: dict[str, tuple[str, list[Edit], str]] = {
    "own code": (
        "qwen2",
        [config(auto_map=OWN)],
        r"code of its own for AutoModel \('modeling_own\.Model'\).*no is_causal",
    ),
    "own code of Mistral": ("mistral", [config(auto_map=OWN)], "code of its own for AutoModel"),
    "own code beside Qwen3": ("qwen3", [config(auto_map=OWN)], "code of its own for AutoModel"),
    "own code of another LFM2": (
        "lfm2",
        [config(architectures=["Lfm2BidirectionalForMaskedLM"])],
        "code of its own for AutoModel",
    ),
    "a flag that the mask does not follow": (
        "gemma2",
        [config(use_bidirectional_attention=True)],
        "use_bidirectional_attention True and is_causal None.* gemma2 follows is_causal alone",
    ),
    "a flag of no boolean": ("qwen2", [config(is_causal="no")], "is_causal 'no'; true or false is needed"),
    "two poolings": (
        "llama_bidirec",
        [config(pooling="last")],
        "pooling 'last', and the Pooling of modules.json is 'mean'",
    ),
    "an unknown pooling": (
        "ministral3",
        [config(pooling="weighted_avg")],
        "pooling 'weighted_avg'; supported: avg, cls",
    ),
    "another tokenizer of its own": (
        "qwen2, both ways",
        [put("tokenizer_config.json", auto_map={"AutoTokenizer": ["tokenization_own.Mine", None]})],
        "tokenizer_config.json has auto_map",
    ),
    "a generator alone": (
        "qwen2",
        [config(architectures=["Qwen2ForCausalLM"]), remove("modules.json", POOLING)],
        "nothing in the files says which this is",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_files_leave_open_is_refused(make: Make, case: str) -> None:
    name, edits, says = REFUSED[case]
    with pytest.raises(CheckpointError, match=f"(?s){says}"):
        load_profile(make(name, *edits))


@pytest.mark.parametrize("repository", ["", "Alibaba-NLP/gte-Qwen2-1.5B-instruct--"])
def test_the_tokenizer_of_gte_qwen2_is_known_wherever_it_lies(make: Make, repository: str) -> None:
    own = [f"{repository}tokenization_qwen.Qwen2Tokenizer{fast}" for fast in ("", "Fast")]
    folder = make("qwen2, both ways", put("tokenizer_config.json", auto_map={"AutoTokenizer": own}))
    assert load_profile(folder).name == "qwen2"


@pytest.mark.parametrize(("said", "pooling"), [("cls", "cls"), ("last", "lasttoken")])
def test_without_modules_the_pooling_of_config_json_counts(make: Make, said: str, pooling: str) -> None:
    bare = make("llama_bidirec", remove("modules.json", "config_sentence_transformers.json"), config(pooling=said))
    (bare / "sentence_bert_config.json").unlink()
    ours = ServedText(bare)
    theirs = ServedText(bare).reference
    theirs[1].pooling_mode = pooling
    want = theirs.encode(list(TEXTS[:12]))
    assert np.abs(ours.texts(TEXTS[:12]) - want).max() <= TOLERANCE


def test_a_stella_without_another_length_has_the_dense_folder_of_its_name(make: Make) -> None:
    """As released: `2_Dense_1024` beside those of other lengths, of which modules.json names one."""

    def named(folder: Path) -> None:
        (folder / "2_Dense").rename(folder / "2_Dense_1024")
        shutil.copytree(folder / "2_Dense_1024", folder / "2_Dense_256")
        entries = json.loads((folder / "modules.json").read_text())
        entries[2]["path"] = "2_Dense_1024"
        (folder / "modules.json").write_text(json.dumps(entries))

    served = ServedText(make("qwen2, both ways", named))
    assert served.profile.dimensions == 24
    assert np.abs(served.texts(TEXTS) - served.reference.encode(list(TEXTS))).max() <= TOLERANCE
