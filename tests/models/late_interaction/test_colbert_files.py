"""ColBERT's checkpoints, in each of their forms, stop the start: the mean of their tokens would be silently wrong."""

import json
from pathlib import Path

import pytest
from sentence_transformers import MultiVectorEncoder

from service.checkpoint.errors import UnsupportedModelError
from service.prompt.profile.detect import load_profile
from tests.models.text.checkpoints import make_checkpoint


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    """A bare BERT, without any file of sentence-transformers."""
    make_checkpoint("bert", tmp_path / "checkpoint")
    return tmp_path / "checkpoint-stock"


def write(folder: Path, name: str, content: object) -> None:
    (folder / name).write_text(json.dumps(content))


def test_a_multi_vector_encoder_of_sentence_transformers(bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "colbert"
    MultiVectorEncoder(str(bert), device="cpu").save_pretrained(str(folder))
    with pytest.raises(UnsupportedModelError, match=r"model_type 'MultiVectorEncoder'.*vector for each token"):
        load_profile(folder)
    (folder / "modules.json").unlink()  # what is left is no mean either
    with pytest.raises(UnsupportedModelError, match=r"model_type 'MultiVectorEncoder'.*vector for each token"):
        load_profile(folder)


@pytest.mark.parametrize("said", [{"model_type": "ColBERT"}, {"query_prefix": "[Q] "}, {"document_length": 180}])
def test_pylates_files(bert: Path, said: dict[str, object]) -> None:
    write(bert, "config_sentence_transformers.json", {"prompts": {}} | said)
    with pytest.raises(
        UnsupportedModelError, match=rf"config_sentence_transformers\.json has {next(iter(said))}.*each token"
    ):
        load_profile(bert)


def test_colberts_own_files(bert: Path) -> None:
    config = json.loads((bert / "config.json").read_text())
    write(bert, "config.json", config | {"architectures": ["HF_ColBERT"]})
    with pytest.raises(UnsupportedModelError, match=r"config\.json has architectures \['HF_ColBERT'\].*each token"):
        load_profile(bert)


def test_a_sentence_transformer_says_so_and_is_served(bert: Path) -> None:
    write(bert, "config_sentence_transformers.json", {"model_type": "SentenceTransformer", "prompts": {}})
    assert load_profile(bert).pooling == "mean"
