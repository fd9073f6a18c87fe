"""EmbeddingGemma 2 gives the vectors of transformers' own classes, for every kind of medium and for mixtures."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from service.checkpoint.json_files import CheckpointError
from service.errors import InputError, ModelError
from service.model.architectures import load_model
from service.outputs.dense import DenseAsk
from service.prompt.detect import load_profile
from service.prompt.prompt import Prompt
from tests.conftest import TOLERANCE
from tests.models.folders.edits import Edit, put, turn, write
from tests.models.omni.cases import CASES, LONG
from tests.models.omni.checkpoints import DOCUMENT, PROMPTS, QUERY, TEMPLATE, make_checkpoint
from tests.models.omni.media import TALL, WIDE, for_reference, for_service
from tests.models.omni.reference import Reference
from tests.models.served import Served, check_special_texts

PROCESSOR, CONFIG = "processor_config.json", "config.json"


class Both(Served):
    """A checkpoint, served and by transformers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.reference = Reference(folder)

    def ours(self, case: list[Any], instruction: str | None = None) -> Prompt:
        return self.prompt(*(for_service(part, self.profile) for part in case), instruction=instruction)

    def theirs(self, *cases: list[Any], prefix: str = "", length: int = 0) -> np.ndarray:
        found = [[for_reference(part, self.profile) for part in case] for case in cases]
        return self.reference(*found, prefix=prefix, length=length)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(make_checkpoint(tmp_path_factory.mktemp("omni") / "embeddinggemma-2-small"))


@pytest.mark.parametrize("case", CASES)
def test_an_item_has_the_references_vector(both: Both, case: str) -> None:
    got = both.vectors([both.ours(CASES[case], DOCUMENT)])
    assert np.abs(got - both.theirs(CASES[case], prefix=DOCUMENT)).max() <= TOLERANCE


def test_a_batch_of_all_items_gives_what_each_gives_alone(both: Both) -> None:
    cases = [case for name, case in CASES.items() if "more" not in name]
    got = both.vectors([both.ours(case) for case in cases])
    want = both.theirs(*cases)
    assert np.abs(got - want).max() <= TOLERANCE
    apart = np.abs(want[:, None] - want).max(axis=-1)
    assert apart[~np.eye(len(cases), dtype=bool)].min() > 100 * TOLERANCE


@pytest.mark.parametrize("name", PROMPTS)
def test_each_prompt_of_the_files_stands_in_front_of_every_kind(both: Both, name: str) -> None:
    cases = [CASES["text"], CASES["image"], [LONG], CASES["video of a list"]]
    got = both.vectors([both.ours(case, both.profile.input_types[name]) for case in cases])
    assert np.abs(got - both.theirs(*cases, prefix=PROMPTS[name])).max() <= TOLERANCE


def test_queries_and_documents_have_the_prompts_of_these_names(both: Both) -> None:
    types = both.profile.input_types
    assert (types["search_query"], types["search_document"]) == (QUERY, DOCUMENT)
    assert both.profile.default_instruction is None


def test_shorter_vectors_are_the_beginning_at_length_1(both: Both) -> None:
    assert both.profile.matryoshka == (128, 160)
    cases = [CASES["image"], [LONG], CASES["text"]]
    waiting = both.waiting([both.ours(case) for case in cases], [(DenseAsk(dimensions=128),)] * len(cases))
    got = [np.frombuffer(row["float32"], "<f4") for row in both.run(waiting) if row is not None]
    assert np.abs(np.stack(got) - both.theirs(*cases, length=128)).max() <= TOLERANCE


def test_a_tensor_of_numbers_is_what_the_extractor_and_the_processor_make(both: Both) -> None:
    prompt = both.ours(CASES["all kinds in one item"])
    ids = both.reference.inputs(
        [[for_reference(part, both.profile) for part in CASES["all kinds in one item"]]], prefix=""
    )["input_ids"]
    assert prompt.plan.ids == ids[0].tolist()
    assert [place.item.kind for place in prompt.placeholders][:3] == ["image", "audio", "video"]
    assert prompt.num_image_tokens == sum(place.length for place in prompt.placeholders) - 60


def test_the_known_answer_check_sees_a_packed_forward_that_differs(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    attention = both.model.backbone._language.layers[0].self_attn
    monkeypatch.setattr(attention, "scaling", 0.5)
    with pytest.raises(ModelError, match="known-answer check"):
        both.check()


def test_features_depend_on_the_towers_and_the_numbers_of_audio(both: Both) -> None:
    tower = both.model.backbone.tower
    assert tower.feature_width == 48
    assert "gemma4_audio" in tower.config_json
    assert "sampling_rate" in tower.config_json
    assert both.model.backbone.encode(torch.zeros(1, 48, 96, 3, dtype=torch.uint8)).shape == (2, 48)


def test_no_text_becomes_a_special_token(both: Both) -> None:
    check_special_texts(both.tokenizer, both.profile)
    assert both.profile.media_tokens


def test_a_turn_more_is_refused(both: Both) -> None:
    with pytest.raises(InputError, match="2 turns"):
        both._prompt(None, both.turn("user", ["a"]), both.turn("assistant", ["b"]), side=None)


def test_float16_is_refused_with_the_reason(both: Both) -> None:
    profile = both.profile
    with pytest.raises(ModelError, match=r"float16.*leave the range.*bfloat16, float32"):
        load_model(profile.architecture, both.folder, torch.device("cpu"), torch.float16, profile.pooling)
    load_model(profile.architecture, both.folder, torch.device("cpu"), torch.bfloat16, profile.pooling)


def test_a_transformers_without_the_class_is_named(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers.models.embedding_gemma2.modeling_embedding_gemma2", None)
    version = re.escape(transformers.__version__)
    with pytest.raises(ModelError, match=rf"embedding_gemma2, which transformers {version} does not know; .*5\.19"):
        load_model("embedding_gemma2", both.folder, torch.device("cpu"), torch.float32, "mean")


@pytest.mark.parametrize(
    ("config", "modalities", "case"),
    [
        ({"vision_config": None, "audio_config": None}, ("text",), ["words alone"]),
        ({"audio_config": None}, ("text", "image", "video"), [WIDE, "a photo"]),
        ({"vision_config": None}, ("text", "audio"), [LONG, "a song"]),
    ],
)
def test_towers_that_are_not_there_are_not_served(
    tmp_path: Path, config: dict[str, Any], modalities: tuple[str, ...], case: list[Any]
) -> None:
    served = Served(make_checkpoint(tmp_path / "small", **config))
    assert served.profile.modalities == modalities
    reference = Reference(served.folder)
    got = served.vectors([served.prompt(*(for_service(part, served.profile) for part in case))])
    assert np.abs(got - reference([for_reference(part, served.profile) for part in case])).max() <= TOLERANCE


def nested(part: str, **keys: Any) -> Edit:
    """Keys of one part of the processor's file."""
    return turn(PROCESSOR, lambda found: found | {part: found[part] | keys})


OBEYED = {
    "another budget of images": (nested("image_processor", max_soft_tokens=140), [TALL, WIDE]),
    "the nearest pixel": (nested("image_processor", resample=0), [TALL, WIDE]),
    "fewer frames": (nested("video_processor", max_frames=2), CASES["video of a list"]),
    "other numbers of audio": (nested("feature_extractor", preemphasis=0.5, mel_floor=0.01), [LONG]),
    "norms of each mel": (nested("feature_extractor", per_bin_mean=[-3.0] * 128, per_bin_stddev=[2.0] * 128), [LONG]),
}


@pytest.mark.parametrize("name", OBEYED)
def test_what_the_processors_file_says_is_done(both: Both, tmp_path: Path, name: str) -> None:
    edit, case = OBEYED[name]
    folder = Path(shutil.copytree(both.folder, tmp_path / "small"))
    edit(folder)
    changed = Both(folder)
    want = changed.theirs(case)
    assert np.abs(changed.vectors([changed.ours(case)]) - want).max() <= TOLERANCE
    assert np.abs(want - both.theirs(case)).max() > 100 * TOLERANCE


REFUSED: dict[str, Edit] = {
    "image_processor of processor_config.json has do_resize False": nested("image_processor", do_resize=False),
    "image_processor.* has rescale_factor 1": nested("image_processor", rescale_factor=1),
    "image_processor.* has image_mean": nested("image_processor", do_normalize=True, image_mean=[0.5] * 3),
    "image_processor.* has max_soft_tokens 100; supported: .70": nested("image_processor", max_soft_tokens=100),
    "image_processor.* has patch_size 14, and config.json's vision_config 16": nested("image_processor", patch_size=14),
    "image_processor.* 'SiglipImageProcessor'": nested("image_processor", image_processor_type="SiglipImageProcessor"),
    "video_processor.* has add_timestamps True": nested("video_processor", add_timestamps=True),
    "video_processor.* has load_audio_from_video True": nested("video_processor", load_audio_from_video=True),
    "video_processor.* has num_frames 8": nested("video_processor", num_frames=8),
    "video_processor.* overflow_strategy 'all'": nested("video_processor", overflow_strategy="all"),
    "video_processor.* has resample 2": nested("video_processor", resample=2),
    "feature_extractor.* has dither 0.1": nested("feature_extractor", dither=0.1),
    "feature_extractor.* has padding_side 'left'": nested("feature_extractor", padding_side="left"),
    "feature_extractor.* has sampling_rate 0": nested("feature_extractor", sampling_rate=0),
    "config.json has image_token_id 3, but tokenizer.json numbers": put(CONFIG, image_token_id=3),
    "config.json has eoa_token_index 3": put(CONFIG, eoa_token_index=3),
    "config.json has vision_config 3; an object or null": put(CONFIG, vision_config=3),
    "chat_template.jinja writes .*; supported: text as they are": lambda folder: _template(
        folder, lambda text: text.replace("item['text'] }}", "item['text'] | trim }}")
    ),
    "sentence_bert_config.json has modality_config": put(
        "sentence_bert_config.json", modality_config={"message": {"format": "flat"}}
    ),
    "1_Pooling/config.json pools by 'max'": put("1_Pooling/config.json", pooling_mode="max"),
}


def _template(folder: Path, change: Callable[[str], str]) -> None:
    (folder / "chat_template.jinja").write_text(change(TEMPLATE))


@pytest.mark.parametrize("says", REFUSED)
def test_what_is_not_done_is_refused_by_file_and_key(both: Both, tmp_path: Path, says: str) -> None:
    folder = Path(shutil.copytree(both.folder, tmp_path / "small"))
    REFUSED[says](folder)
    with pytest.raises(CheckpointError, match=says):
        load_profile(folder)


def test_folders_without_a_processors_file_have_the_classes_defaults(both: Both, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(both.folder, tmp_path / "small"))
    write("video_preprocessor_config.json", {"max_soft_tokens": 140})(folder)
    (folder / PROCESSOR).unlink()
    profile = load_profile(folder)
    assert profile.images is not None
    assert profile.images.pixel_rule.max_pixels == 280 * 48**2
    assert profile.audios == both.profile.audios
    assert profile.images.video_rule is not None
    assert profile.images.video_rule.frame_size(100, 100, 1) == (528, 528)
