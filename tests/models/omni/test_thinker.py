"""Qwen2.5-Omni's thinker gives the vectors of transformers' own class, for every kind of medium and for mixtures."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from service.checkpoint.json_files import CheckpointError
from service.errors import InputError, ModelError
from service.prompt.detect import load_profile
from service.prompt.prompt import Prompt
from tests.conftest import TOLERANCE
from tests.models.folders.edits import Edit, put, turn
from tests.models.omni.media import CLEAR, NOISE, SLIVER, TALL, WIDE, Film, drawn, for_reference, for_service, sound
from tests.models.omni.reference import Frames
from tests.models.omni.thinker import (
    ANSWER,
    DEFAULT,
    IN_USERS_TURN,
    SYSTEM,
    ThinkerReference,
    make_thinker,
    with_modules,
)
from tests.models.served import Served, check_special_texts

CONFIG, PROCESSOR, SETTINGS = "config.json", "preprocessor_config.json", "sentence_bert_config.json"
SIDE = 336
"""Of frames that no rule resizes."""
LIST = Film(tuple(drawn(SIDE, SIDE, turn) for turn in (1, 2, 3, 4)))
FILE = Film.of_file(26, (SIDE, SIDE))
SHORT, LONG = sound(0.3), sound(4.6, 500)
CASES: dict[str, list[Any]] = {
    "text": ["A lighthouse on a cliff above the sea."],
    "empty text": [""],
    "text of blanks and newlines": ["\n two \n\n lines "],
    "image": [WIDE],
    "tall image": [TALL],
    "sliver": [SLIVER],
    "image of windows": [NOISE],
    "transparent image": [CLEAR],
    "two images and a text": [TALL, WIDE, "Which is wider?"],
    "audio": [SHORT],
    "audio of one token": [sound(321 / 16_000)],
    "audio beyond the tower's window": [LONG],
    "video of a list": [LIST],
    "video of three frames": [Film(LIST.frames[:3])],
    "video file": [FILE],
    "text before an image": ["a photo of ", WIDE],
    "all kinds in one item": ["a ", WIDE, " b ", LONG, "\nc", LIST, TALL, SHORT, FILE, " d"],
    "the same media twice": [SHORT, SHORT, WIDE, " and ", WIDE],
}


class Both(Served):
    """A checkpoint, served and by transformers."""

    def __init__(self, folder: Path, family: str | None = None, **options: Any) -> None:
        super().__init__(folder, family)
        self.reference = ThinkerReference(folder, **options)

    def ours(self, case: list[Any], instruction: str | None = None) -> Prompt:
        return self.prompt(*(for_service(part, self.profile) for part in case), instruction=instruction)

    def theirs(self, *cases: list[Any], **around: str) -> np.ndarray:
        return self.reference(*([self._seen(part) for part in case] for case in cases), **around)

    def _seen(self, part: Any) -> Any:
        """A part, and of a video the frames by arithmetic of qwen-omni-utils."""
        if not isinstance(part, Film):
            return for_reference(part, self.profile)
        numbers = list(range(len(part.frames)))
        if part.encoded:
            num = int(min(max(len(numbers) / 5 * 2.0, 4), 768, len(numbers))) // 2 * 2
            numbers = torch.linspace(0, len(numbers) - 1, num).round().long().tolist()
        numbers += numbers[-1:] * (len(numbers) % 2)
        return Frames(tuple(part.frames[i] for i in numbers))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_thinker(tmp_path_factory.mktemp("thinker") / "small")


def modular(folder: Path, to: Path, template: str = "", **options: Any) -> Path:
    copied = Path(shutil.copytree(folder, to))
    if template:
        (copied / "additional_chat_templates").mkdir()
        (copied / "additional_chat_templates" / "own.jinja").write_text(template)
    variables = {"add_generation_prompt": True, **({"chat_template": "own"} if template else {})}
    return with_modules(copied, variables, {"query": "Query: ", "document": ""}, **options)


@pytest.fixture(scope="module")
def both(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(modular(folder, tmp_path_factory.mktemp("modular") / "small"))


@pytest.mark.parametrize("case", CASES)
def test_an_item_has_the_references_vector(both: Both, case: str) -> None:
    assert np.abs(both.vectors([both.ours(CASES[case])]) - both.theirs(CASES[case])).max() <= TOLERANCE


def test_a_batch_of_all_items_gives_what_each_gives_alone(both: Both) -> None:
    got, want = both.vectors([both.ours(case) for case in CASES.values()]), both.theirs(*CASES.values())
    assert np.abs(got - want).max() <= TOLERANCE
    apart = np.abs(want[:, None] - want).max(axis=-1)
    assert apart[~np.eye(len(CASES), dtype=bool)].min() > 100 * TOLERANCE


def test_a_prompt_of_the_files_is_the_system_turn_that_the_template_writes(both: Both) -> None:
    types = both.profile.input_types
    assert (types["search_query"], types["search_document"]) == ("Query: ", "")
    cases = [CASES["text"], CASES["audio"]]
    got = both.vectors([both.ours(case, "Query: ") for case in cases])
    assert np.abs(got - both.theirs(*cases, head=SYSTEM.format("Query: "))).max() <= TOLERANCE
    both.text_prompts(["a", " b", "", "\n\nc"], "Query: ")  # alone as among others


def test_a_template_of_its_own_name_pooled_by_the_mean(folder: Path, tmp_path: Path) -> None:
    ends = IN_USERS_TURN.replace("assistant\n", "assistant\n<|endoftext|>")
    own = Both(modular(folder, tmp_path / "small", ends, pooling="mean"), pools_mean=True)
    cases = [CASES["text"], CASES["text before an image"], CASES["all kinds in one item"]]
    got = own.vectors([own.ours(case, "Query: ") for case in cases])
    want = own.theirs(*cases, head=DEFAULT + "Query: ", tail=ANSWER + "<|endoftext|>")
    assert np.abs(got - want).max() <= TOLERANCE
    assert own.prompt("a b c" * 40, instruction="Query: ", side="right").plan.ids[-1] == 0


def test_lcos_script_asks_for_one_word_by_the_kind_of_the_item(folder: Path) -> None:
    own = Both(folder, "lco_omni")
    for name, word in (("text", "text"), ("image", "image"), ("audio", "audio"), ("video of a list", "video")):
        want = own.theirs(CASES[name], tail=f"\nSummarize the above {word} in one word:{ANSWER}")
        assert np.abs(own.vectors([own.ours(CASES[name])]) - want).max() <= TOLERANCE
    mixed = ["a ", LONG, WIDE, LIST]
    want = own.theirs(mixed, ["", SHORT], tail=f"\nSummarize the above image in one word:{ANSWER}")[:1]
    assert np.abs(own.vectors([own.ours(mixed)]) - want).max() <= TOLERANCE


def test_e5s_script_puts_the_prefix_into_the_users_turn(folder: Path) -> None:
    own = Both(folder, "e5_omni")
    assert own.profile.input_types["search_query"] == "Query: "
    for instruction in ("Query: ", ""):
        want = own.theirs(CASES["text"], CASES["audio"], head=DEFAULT + instruction, tail=ANSWER + "<|endoftext|>")
        got = own.vectors([own.ours(CASES[name], instruction) for name in ("text", "audio")])
        assert np.abs(got - want).max() <= TOLERANCE


def test_a_folder_with_a_talker_is_its_thinker(tmp_path: Path) -> None:
    own = Both(make_thinker(tmp_path / "whole", is_whole=True), "e5_omni")
    cases = [CASES["all kinds in one item"], CASES["text"]]
    want = own.theirs(*cases, tail=ANSWER + "<|endoftext|>")
    assert np.abs(own.vectors([own.ours(case) for case in cases]) - want).max() <= TOLERANCE


def test_audio_is_cut_where_the_extractor_cuts_it(folder: Path, tmp_path: Path) -> None:
    copied = modular(folder, tmp_path / "small")
    put(PROCESSOR, chunk_length=2)(copied)
    own = Both(copied)
    cases = [[sound(seconds, 220)] for seconds in (1.99, 2.0, 2.7)]
    assert np.abs(own.vectors([own.ours(case) for case in cases]) - own.theirs(*cases)).max() <= TOLERANCE


def test_the_known_answer_check_sees_positions_that_differ(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = both.model.backbone._language.layers[0].self_attn
    monkeypatch.setattr(layer, "scaling", 0.5)
    with pytest.raises(ModelError, match="known-answer check"):
        both.check()


def test_no_text_becomes_a_special_token(both: Both) -> None:
    check_special_texts(both.tokenizer, both.profile)
    with pytest.raises(InputError, match="2 turns"):
        both._prompt(None, both.turn("user", ["a"]), both.turn("assistant", ["b"]), side=None)


REFUSED: dict[str, Edit] = {
    "image_processor|preprocessor_config.json has do_resize False": put(PROCESSOR, do_resize=False),
    "preprocessor_config.json has patch_size 16": put(PROCESSOR, patch_size=16),
    "preprocessor_config.json has padding_side 'left'": put(PROCESSOR, padding_side="left"),
    "preprocessor_config.json has dither 0.1": put(PROCESSOR, dither=0.1),
    "preprocessor_config.json has sampling_rate 8000": put(PROCESSOR, sampling_rate=8000),
    "feature_size 80, and config.json num_mel_bins 128": put(PROCESSOR, feature_size=80),
    "feature_extractor has .*'hop_length': 0": put(PROCESSOR, hop_length=0),
    "config.json has image_token_index 3, but tokenizer.json": put(CONFIG, image_token_index=3),
    "config.json has vision_start_token_id 0, but": turn(
        CONFIG, lambda found: {key: value for key, value in found.items() if key != "vision_start_token_id"}
    ),
    "has video .* in processing_kwargs; supported|processing_kwargs with video": put(
        SETTINGS, processing_kwargs={"video": {"fps": 1}}
    ),
    "has no chat template 'none'": put(SETTINGS, processing_kwargs={"chat_template": {"chat_template": "none"}}),
    "chat_template.json writes .*; supported: text as they are": turn(
        "chat_template.json", lambda found: {"chat_template": found["chat_template"].replace("'] }}{%", "']|trim }}{%")}
    ),
    "1_Pooling/config.json pools by 'max'": put("1_Pooling/config.json", pooling_mode="max"),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_is_not_done_is_refused_by_file_and_key(both: Both, tmp_path: Path, says: str) -> None:
    copied = Path(shutil.copytree(both.folder, tmp_path / "small"))
    REFUSED[says](copied)
    with pytest.raises(CheckpointError, match=says):
        load_profile(copied)


def test_a_language_model_alone_is_not_guessed(folder: Path) -> None:
    with pytest.raises(CheckpointError, match=r"--family.*e5_omni.*lco_omni"):
        load_profile(folder)
