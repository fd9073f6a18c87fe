"""Nemotron 3.5 gives the vectors and scores of transformers' Mistral 3, on folders as NVIDIA's trainer writes them."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from service.checkpoint.json_files import CheckpointError
from service.errors import InputError, ModelError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.folders.edits import Edit, put, remove, turn, write
from tests.models.served import Served, check_special_texts
from tests.models.vlm.images import CLEAR, EXACT, LARGE, SLIVER, SMALL, TALL, WIDE, image
from tests.models.vlm.mistral3 import (
    MISTRAL,
    PROMPTS,
    SETTINGS,
    STRIPPING,
    TEMPLATE,
    TEXT,
    Reference,
    embedder,
    reranker,
)

DOT = image(9, 20, 25)
"""Of one visual token."""
CASES: dict[str, list[Any]] = {
    "text": ["A lighthouse on a cliff above the sea."],
    "text that names tokens": ["an [IMG], <s> and [IMG_END] of <b>words</b> [sic]"],
    "text with blanks at its ends": [" \n two lines \n"],
    "empty text": [""],
    "long text": ["a lighthouse on a cliff " * 20],
    "image": [SMALL],
    "wide image": [WIDE],
    "image of whole tokens": [EXACT],
    "image over the limit": [LARGE],
    "image of one token": [DOT],
    "sliver": [SLIVER],
    "transparent image": [CLEAR],
    "image and text": [TALL, "What is above the square?"],
    "text before an image": ["What is above [it]?", TALL],
    "two images and two texts": ["Which is ", WIDE, "wider?", DOT],
}
PAIRS: dict[str, tuple[str, list[Any]]] = {
    "texts": ("Where is it?", ["On a cliff."]),
    "texts with blanks at their ends": (" Where [is] it?\n", [" On <a> cliff. \n"]),
    "an image": ("Where is it?", [TALL]),
    "an image and a text": ("Where is it?", [WIDE, "On a cliff. \n"]),
    "an empty document": ("Where is it?", [""]),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return Served(embedder(tmp_path_factory.mktemp("mistral3") / "embed"))


@pytest.fixture(scope="module")
def reference(served: Served) -> Reference:
    return Reference(served.folder)


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return Served(reranker(tmp_path_factory.mktemp("mistral3") / "rerank"))


def off(served: Served, reference: Reference, *cases: list[Any], prompt: str = "") -> float:
    """Largest difference of any number, the cases in one batch."""
    got = served.vectors([served.prompt(*case, instruction=prompt or None) for case in cases])
    return float(np.abs(got - reference(*cases, prompt=prompt)).max())


@pytest.mark.parametrize("case", CASES)
def test_a_vector_is_the_references(served: Served, reference: Reference, case: str) -> None:
    assert off(served, reference, CASES[case], prompt=PROMPTS["document"]) <= TOLERANCE


def test_a_batch_of_all_gives_what_each_gives_alone(served: Served, reference: Reference) -> None:
    cases = [*CASES.values()]
    assert off(served, reference, *cases) <= TOLERANCE
    want = reference(*cases)
    apart = np.abs(want[:, None] - want).max(axis=-1)
    assert apart[~np.eye(len(cases), dtype=bool)].min() > 100 * TOLERANCE


def test_prompts_are_the_files(served: Served, reference: Reference) -> None:
    types = served.profile.input_types
    assert (types["search_query"], types["search_document"]) == (PROMPTS["query"], PROMPTS["document"])
    assert off(served, reference, CASES["text"], prompt=PROMPTS["query"]) <= TOLERANCE


def test_blanks_at_the_end_of_a_prompt_are_as_the_template_has_them(served: Served, tmp_path: Path) -> None:
    folder = edited(served, tmp_path, write("chat_template.jinja", STRIPPING))
    other, cases = Served(folder), (CASES["text"], CASES["image and text"])
    assert off(other, Reference(folder), *cases, prompt="passage:  ") <= TOLERANCE
    assert off(served, Reference(folder), *cases, prompt="passage:  ") > 100 * TOLERANCE


def edited(served: Served, place: Path, *edits: Edit) -> Path:
    folder = Path(shutil.copytree(served.folder, place / "edited"))
    for edit in edits:
        edit(folder)
    return folder


def of_text(**keys: Any) -> Edit:
    return turn("config.json", lambda found: found | {"text_config": found["text_config"] | keys})


def of_images(**keys: Any) -> Edit:
    return turn("processor_config.json", lambda found: found | {"image_processor": found["image_processor"] | keys})


OBEYED: dict[str, Edit] = {
    "a causal decoder": of_text(is_causal=True),
    "a flag of the whole model": put("config.json", is_causal=True),
    "a longer side": of_images(size={"longest_edge": 100}),
    "another filter": of_images(resample=2),
    "another layer of the tower": put("config.json", vision_feature_layer=-2),
}


@pytest.mark.parametrize("name", OBEYED)
def test_what_the_files_say_is_done(served: Served, reference: Reference, tmp_path: Path, name: str) -> None:
    folder = edited(served, tmp_path, OBEYED[name])
    cases = (CASES["image and text"], CASES["wide image"], CASES["image over the limit"])
    assert off(Served(folder), Reference(folder), *cases) <= TOLERANCE
    assert np.abs(reference(*cases) - Reference(folder)(*cases)).max() > 100 * TOLERANCE


def test_a_decoder_of_the_older_type_in_a_window(tmp_path: Path) -> None:
    folder = embedder(tmp_path / "small", MISTRAL | {"sliding_window": 8})
    assert off(Served(folder), Reference(folder), *CASES.values()) <= TOLERANCE


REFUSED: dict[str, Edit] = {
    "image_processor of processor_config.json has do_resize False": of_images(do_resize=False),
    "image_processor.* has image_mean": of_images(image_mean=[0.5] * 3),
    "image_processor.* has do_center_crop True": of_images(do_center_crop=True),
    "image_processor.* 'SiglipImageProcessor'": of_images(image_processor_type="SiglipImageProcessor"),
    "the image processor has size .*height": of_images(size={"height": 9, "width": 9}),
    "the image processor has size .* and resample 7": of_images(resample=7),
    r"config.json has patch_size.* \(14, 2, \{4\}\), and .* \(16, 2": put("processor_config.json", patch_size=16),
    r"config.json has patch_size.* \(14, 2, \{3\}\)": put("config.json", image_token_index=3),
    "tokenizer.json lacks the special tokens .PIC.": put("processor_config.json", image_end_token="[PIC]"),
    r"text_config and a vision_config of \('llama', 'pixtral'\)": of_text(model_type="llama"),
    "config.json has is_causal 3": put("config.json", is_causal=3),
    "names code of its own for AutoModel": put("config.json", auto_map={"AutoModel": "modeling_own.Model"}),
    "chat_template.jinja writes 'xp: ": write("chat_template.jinja", "x" + TEMPLATE.strip()),
    "has no chat template": remove("chat_template.jinja"),
    "has modality_config": put(SETTINGS, modality_config={"message": {"format": "flat"}}),
    "nothing in the files says which": remove("modules.json"),
    "pooling 'avg', and the Pooling of modules.json is 'cls'": put("1_Pooling/config.json", pooling_mode="cls"),
    "has fix_mistral_regex True": put("config.json", transformers_version="4.57.1"),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_is_not_done_is_refused(served: Served, tmp_path: Path, says: str) -> None:
    with pytest.raises(CheckpointError, match=says):
        load_profile(edited(served, tmp_path, REFUSED[says]))


def test_the_known_answer_check_sees_a_packed_forward_that_differs(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    attention = served.model.backbone._language.layers[0].self_attn
    monkeypatch.setattr(attention, "scaling", attention.scaling * 1.5)
    with pytest.raises(ModelError, match="known-answer check"):
        served.check()


def test_an_image_is_its_own_block(served: Served) -> None:
    check_special_texts(served.tokenizer, served.profile)
    backbone = served.model.backbone
    assert backbone.encode(torch.zeros(56, 84, 3, dtype=torch.uint8)).shape == (8, 64)
    assert "image_end=6" in backbone.tower.config_json
    assert TEXT["hidden_size"] == backbone.tower.feature_width
    assert [place.length for place in served.prompt(LARGE, DOT).placeholders] == [6 * 8, 2]


def test_scores_are_those_of_the_dense(scorer: Served) -> None:
    want = Reference(scorer.folder).scores(*PAIRS.values())
    prompts = [scorer.pair(query, document) for query, document in PAIRS.values()]
    assert np.abs(scorer.scores(prompts) - want).max() <= TOLERANCE
    alone = np.concatenate([scorer.scores([prompt]) for prompt in prompts])
    assert np.abs(alone - want).max() <= TOLERANCE
    assert np.diff(np.sort(want)).min() > 100 * TOLERANCE


@pytest.mark.parametrize(
    ("query", "document", "code"),
    [([SMALL], ["a"], "unsupported_modality"), (["a"], [SMALL, TALL], "conflicting_input")],
)
def test_images_without_a_place_are_refused(scorer: Served, query: list[Any], document: list[Any], code: str) -> None:
    with pytest.raises(InputError) as caught:
        scorer.pair(query, document)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("says", "edit"),
    {
        "makes no messages in parts": put(SETTINGS, modality_config=None),
        "supported: an image, then the pair's text": write(
            "chat_template.jinja", TEMPLATE.replace("'[IMG] ' ~ sides.text", "sides.text ~ '[IMG]'")
        ),
        "a reranker of a kind not supported": remove("modules.json"),
    }.items(),
)
def test_other_rerankers_are_refused(scorer: Served, tmp_path: Path, says: str, edit: Edit) -> None:
    with pytest.raises(CheckpointError, match=says):
        load_profile(edited(scorer, tmp_path, edit))
