"""Static embeddings against model2vec's and sentence-transformers' own `encode`."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from service.checkpoint.hub import find_checkpoint
from service.checkpoint.json_files import CheckpointError
from service.errors import InputError, ModelError
from service.model.architectures import load_model
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.served import Served, check_special_texts, load
from tests.models.static.checkpoints import FOLDERS, WIDTH, potion, reference, static_embedding, with_weights
from tests.models.text.texts import LONG, TEXTS
from tests.models.weights import change_json


class Static(Served):
    """A folder of static embeddings and its reference."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Path(find_checkpoint(str(folder), None).folder))
        self.reference = reference(folder)
        found = np.asarray(self.reference.encode(list(TEXTS)))
        self.known = [text for text, vector in zip(TEXTS, found, strict=True) if vector.any()]
        assert len(self.known) > 40


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Static]:
    return cache(lambda name: Static(FOLDERS[name](tmp_path_factory.mktemp("static") / "checkpoint")))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture(params=sorted(FOLDERS))
def static(request: pytest.FixtureRequest, served: Callable[[str], Static]) -> Static:
    return served(request.param)


def near(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Within the tolerance of numbers around 1; a mean of int8 is a hundred times as large."""
    return bool(np.abs(ours - theirs).max() <= TOLERANCE * max(1.0, float(np.abs(theirs).max())))


def test_texts_have_the_references_vectors_together_and_alone(static: Static) -> None:
    theirs = np.asarray(static.reference.encode(static.known))
    ours = static.texts(static.known, side="right")
    assert near(ours, theirs)
    assert near(np.concatenate([static.texts([text], side="right") for text in static.known[::5]]), theirs[::5])
    assert len(np.unique(theirs.round(2), axis=0)) > 20  # some begin alike, and are cut


def test_no_text_becomes_a_special_token(static: Static) -> None:
    check_special_texts(static.tokenizer, static.profile)
    assert not static.tokenizer.head_token_ids + static.tokenizer.tail_token_ids


@pytest.mark.parametrize("name", ["potion", "potion, unigram", "mapped and weighed"])
def test_a_long_text_is_cut_as_model2vec_cuts_it(name: str, served: Callable[[str], Static]) -> None:
    static = served(name)
    words = " ".join(LONG)
    texts = [words * 5, "☃ " * 300 + words * 3, words, "a " + "unbreakablewordthatneverends" * 300]
    assert near(static.texts(texts, side="right"), static.reference.encode(texts))
    median = static.reference.median_token_length
    assert static.tokenizer.bound.max_chars(10) == 10 * median
    for text in (texts[0], texts[-1]):
        with pytest.raises(InputError, match="context length"):
            static.text_prompts([text])


def test_a_text_that_is_too_long_in_characters_alone_is_refused_uncut(served: Callable[[str], Static]) -> None:
    static = served("potion")
    text = "a" + " " * static.tokenizer.bound.max_chars(512)
    with pytest.raises(InputError, match="characters"):
        static.text_prompts([text])
    assert near(static.texts([text], side="right"), static.reference.encode([text]))


def test_unknown_tokens_are_passed_over_in_the_one_form_and_have_a_row_in_the_other(
    served: Callable[[str], Static],
) -> None:
    texts = ["a ☃ natural ☃☃ pool", "☃ a"]
    for name in ("potion", "static-retrieval"):
        static = served(name)
        assert near(static.texts(texts), np.asarray(static.reference.encode(texts)))
    assert near(served("potion").texts(["☃ a"]), served("potion").texts(["a"]))
    assert not near(served("static-retrieval").texts(["☃ a"]), served("static-retrieval").texts(["a"]))


@pytest.mark.parametrize(("name", "text"), [("potion", ""), ("potion", "☃ ☃"), ("static-retrieval", " ")])
def test_a_text_without_a_row_is_refused_where_the_reference_gives_zeros(
    name: str, text: str, served: Callable[[str], Static]
) -> None:
    assert not np.asarray(served(name).reference.encode([text])).any()
    with pytest.raises(InputError) as refused:
        served(name).prompt(text)
    assert refused.value.code == "empty_input"


def test_prompts_and_shorter_vectors_are_sentence_transformers(served: Callable[[str], Static]) -> None:
    static = served("of release 6, with Dense")
    theirs = static.reference.encode_query(list(TEXTS[:9]))
    assert near(static.texts(TEXTS[:9], static.profile.input_types["search_query"]), theirs)
    assert (static.profile.dimensions, static.profile.min_dimensions, static.profile.normalize) == (36, 32, True)
    assert served("cut").profile.dimensions == 40
    assert served("static-retrieval").profile.max_tokens == 1 << 15
    assert served("potion, unigram").profile.max_tokens == 20


def test_a_limit_of_the_tokenizers_file_is_sentence_transformers(tmp_path: Path) -> None:
    folder = static_embedding(tmp_path / "cut", is_new=True)
    limit = {"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0}
    change_json(folder / "tokenizer.json", truncation=limit)
    served, texts = Served(folder), [LONG[0], "a"]
    assert served.profile.max_tokens == 9
    assert near(served.texts(texts, side="right"), np.asarray(reference(folder).encode(texts)))
    with pytest.raises(InputError, match="context length"):
        served.prompt(LONG[0])


def test_half_a_table_is_read_as_it_is(tmp_path: Path) -> None:
    folder = potion(tmp_path / "half")
    tensors = {name: one.half() for name, one in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors")
    texts = list(TEXTS[:5])
    theirs = reference(folder).encode(texts)
    assert np.abs(Served(folder).texts(texts) - theirs).max() <= 1e-3  # what it rounds
    kept = load_model(load_profile(folder).architecture, folder, torch.device("cpu"), None, "mean")
    assert kept.backbone.dtype == torch.float16


def test_late_chunking_is_not_offered(static: Static) -> None:
    assert not static.profile.offers_late_chunking


def config(**keys: Any) -> Callable[[Path], object]:
    return lambda folder: change_json(folder / "config.json", **keys)


def tensors(**more: torch.Tensor) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        path = folder / "model.safetensors"
        save_file(load_file(path) | more, path)

    return edit


def modules(*kinds: str) -> Callable[[Path], object]:
    entries = [
        f'{{"idx": {i}, "path": "{kind}", "type": "sentence_transformers.models.{kind}"}}'
        for i, kind in enumerate(kinds)
    ]
    return lambda folder: (folder / "modules.json").write_text(f"[{', '.join(entries)}]")


@pytest.mark.parametrize(
    ("make", "edit", "says"),
    [
        (potion, config(normalize=False), "normalize False, and modules.json"),
        (potion, config(normalize="yes"), "normalize 'yes'"),
        (potion, config(max_length=0), "max_length 0"),
        (potion, config(head_config={"a": 1}), "head_config"),
        (potion, config(pruned=3), "pruned 3"),
        (potion, tensors(scale=torch.ones(1)), "scale"),
        (potion, tensors(weights=torch.ones(3)), "one number for each token"),
        (potion, tensors(embeddings=torch.zeros(9, WIDTH)), "has no embedding"),
        (potion, modules("StaticEmbedding", "Dense"), "Dense"),
        (static_embedding, modules("StaticEmbedding", "Pooling"), "StaticEmbedding, Pooling"),
        (static_embedding, modules("StaticEmbedding", "LayerNorm"), "LayerNorm"),
        (static_embedding, tensors(mapping=torch.zeros(3, dtype=torch.int64)), "mapping"),
    ],
)
def test_what_is_not_obeyed_is_refused_by_name(
    make: Callable[..., Path], edit: Callable[[Path], object], says: str, tmp_path: Path
) -> None:
    folder = make(tmp_path / "folder", **({"is_new": True} if make is static_embedding else {}))
    edit(folder)
    with pytest.raises(CheckpointError, match=f"(?s){says}"):
        Served(Path(find_checkpoint(str(folder), None).folder))


def test_a_mapping_beyond_the_table_ends_the_start(tmp_path: Path) -> None:
    folder = with_weights(tmp_path / "folder")
    found = load_file(folder / "model.safetensors")
    tensors(mapping=found["mapping"] + 1000)(folder)
    with pytest.raises(ModelError, match="rows beyond the 90"):
        load(folder)


def test_a_folder_without_its_table_says_so(tmp_path: Path) -> None:
    folder = potion(tmp_path / "folder")
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        find_checkpoint(str(folder), None)
