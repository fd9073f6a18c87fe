"""WeMM-Embedding beside its script: parts in any order, videos, shorter vectors, and files that say something else."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from service.checkpoint.json_files import CheckpointError
from service.errors import InputError
from service.media.error_location import NO_LOCATION
from service.media.image.header import DecodeLimits
from service.media.media_item import Video
from service.media.video.frame_list import open_frames
from service.media.video.video_rule import item_times
from service.outputs.dense import DenseAsk
from service.prompt.detect import load_profile
from service.prompt.prompt import Prompt
from tests.builders import image_bytes
from tests.conftest import TOLERANCE
from tests.models.folders.edits import Edit, put, write
from tests.models.served import Served, check_special_texts
from tests.models.vlm.checkpoints import WEMM_TEMPLATE, wemm
from tests.models.vlm.images import SMALL, TALL, WIDE, image
from tests.models.vlm.references import WemmScript

FRAMES = [image(seed, 384, 384) for seed in (21, 22, 23, 24)]
"""Of a size that no resize changes."""
TEMPLATE = "additional_chat_templates/sentence_transformers.jinja"
PROCESSOR, SETTINGS = "processor_config.json", "sentence_bert_config.json"


class Both(Served):
    """A checkpoint, served and by its script."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.script = WemmScript(folder)

    def video(self, frames: list[Image.Image]) -> Video:
        assert self.profile.images is not None
        assert self.profile.images.video_rule is not None
        encoded = [image_bytes(frame) for frame in frames]
        pairs = open_frames(encoded, [NO_LOCATION] * len(encoded), DecodeLimits(), self.profile.images.video_rule)
        return Video(pairs, item_times(range(len(frames)), 2.0))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(wemm(tmp_path_factory.mktemp("wemm") / "WeMM-Embedding-small"))


@torch.inference_mode()
def of_video(script: WemmScript, frames: list[Image.Image], text: str) -> np.ndarray:
    """The card's vector of frames, two each second, and a text; patches as `Qwen3VLVideoProcessor` cuts them."""
    pixels = (torch.tensor(np.stack([np.array(one) for one in frames])).float() / 255 - 0.5) / 0.5
    pairs, side = len(frames) // 2, frames[0].height // 32
    cut = pixels.view(pairs, 2, side, 2, 16, side, 2, 16, 3).permute(0, 2, 5, 3, 6, 8, 1, 4, 7)
    seen = "<|vision_start|>" + "<|video_pad|>" * side**2 + "<|vision_end|>"
    times = "".join(f"<{(i + 0.25) * 1.0:.1f} seconds>{seen}" for i in range(pairs))
    ids = script.ids(f"<|im_start|>user\n{times}{text}<|im_end|>\n<embedding>", None)
    states = script.model.model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        pixel_values_videos=cut.reshape(-1, 3 * 2 * 16 * 16),
        video_grid_thw=torch.tensor([[pairs, 2 * side, 2 * side]]),
        mm_token_type_ids=(ids == script.model.config.video_token_id).int() * 2,
    ).last_hidden_state
    script.model.model.rope_deltas = None
    return torch.nn.functional.normalize(states[0, -1], dim=0).numpy()


def test_a_prompt_has_the_tokens_that_the_makers_have(both: Both) -> None:
    (start, end, pad, last), new_line = (1, 2, 5, 7), both.tokenizer.encode("a\nb").ids[1]
    ids = both.prompt("a").plan.ids
    assert ids[:1] + ids[-2:] == [start, end, last]
    assert ids[-4] == new_line
    ids = both.prompt(SMALL, "a").plan.ids
    assert ids[1 : ids.index(pad) - 1] == both.tokenizer.encode("user").ids  # no line end before an image
    assert ids == both.script.ids(both.script.write(SMALL, "a"), both.script.patches([SMALL])[1])[0].tolist()


def test_parts_are_read_as_they_were_written(both: Both) -> None:
    cases = [("What is ", SMALL, " and what\n", WIDE, "\n?"), (TALL, "a", "b"), ("a", TALL), ("\n", TALL, " ")]
    got = both.vectors([both.prompt(*case) for case in cases])
    assert np.abs(got - np.stack([both.script.of(*case) for case in cases])).max() <= TOLERANCE


def test_videos_have_the_vectors_of_their_frames_and_times_alone_and_beside_others(both: Both) -> None:
    want = of_video(both.script, FRAMES, "Represent this video.")
    prompt = both.prompt(both.video(FRAMES), "Represent this video.")
    assert np.abs(both.vectors([prompt])[0] - want).max() <= TOLERANCE
    others: list[Prompt] = [both.prompt(TALL, "a"), both.prompt("a b c")]
    got = both.vectors([others[0], prompt, others[1]])
    assert np.abs(got - np.stack([both.script.of(TALL, "a"), want, both.script.of("a b c")])).max() <= TOLERANCE
    assert np.abs(of_video(both.script, FRAMES[::-1], "Represent this video.") - want).max() > 100 * TOLERANCE


def test_texts_together_are_the_texts_alone(both: Both) -> None:
    texts = ["", "\n", "a lighthouse\n", "one two three four five six seven", "<embedding> <|im_end|>"]
    want = np.stack([both.script.of(text) for text in texts[:-1]])
    assert np.abs(both.texts(texts)[:-1] - want).max() <= TOLERANCE
    check_special_texts(both.tokenizer, both.profile)


def test_shorter_vectors_are_the_beginning_at_length_1(both: Both) -> None:
    assert both.profile.matryoshka == (16, 32, 64)
    waiting = both.waiting([both.prompt(SMALL, "a")], [(DenseAsk(dimensions=32),)])
    (row,) = both.run(waiting)
    assert row is not None
    want = both.script.of(SMALL, "a")[:32]
    assert np.abs(np.frombuffer(row["float32"], "<f4") - want / np.linalg.norm(want)).max() <= TOLERANCE


def test_a_system_message_is_refused(both: Both) -> None:
    with pytest.raises(InputError, match="write it in the text"):
        both.prompt("a", instruction="Find it.")


def template(old: str, new: str) -> Edit:
    """Change both templates of the tokenizer."""

    def edit(folder: Path) -> None:
        for name in ("chat_template.jinja", TEMPLATE):
            write(name, WEMM_TEMPLATE.replace(old, new))(folder)

    return edit


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (template("part.text", "part.text | trim"), "writes .*supported of this architecture"),
        (template("message.role", "'system'"), "writes .*supported of this architecture"),
        (put(SETTINGS, processor_kwargs={"max_pixels": 4096}), "max_pixels 4096; supported"),
        (put("config_sentence_transformers.json", prompts={"query": "q: "}), "has the prompts"),
        (put(PROCESSOR, image_processor={"patch_size": 14}), "patch_size 14; supported: 16"),
        (put(PROCESSOR, image_processor={"resample": 2}), "resample 2; supported: 3"),
        (put("config.json", auto_map=None), "which several models share"),
    ],
)
def test_files_that_ask_for_other_vectors_are_refused_by_name(tmp_path: Path, edit: Edit, words: str) -> None:
    folder = wemm(tmp_path / "WeMM-Embedding-2B")
    edit(folder)
    with pytest.raises(CheckpointError, match=words):
        load_profile(folder)


def test_one_of_the_templates_is_enough_and_a_line_end_before_the_last_token_does_not_count(tmp_path: Path) -> None:
    folder = wemm(tmp_path / "wemm")
    write("chat_template.jinja", WEMM_TEMPLATE.replace("message.role", "'other'"))(folder)
    assert load_profile(folder).name == "wemm-embedding"
    template("<|im_end|>\\n", "<|im_end|>")(folder)
    assert load_profile(folder).name == "wemm-embedding"


def test_limits_of_pixels_count_before_size_as_the_processor_has_them(tmp_path: Path) -> None:
    folder = wemm(tmp_path / "wemm")
    images = json.loads((folder / PROCESSOR).read_text())["image_processor"]
    put(PROCESSOR, image_processor=images | {"min_pixels": 9 * 1024, "max_pixels": 20 * 1024})(folder)
    served, script = Served(folder), WemmScript(folder)
    got = served.vectors([served.prompt(one, "") for one in (SMALL, WIDE)])
    assert np.abs(got - np.stack([script.of(one) for one in (SMALL, WIDE)])).max() <= TOLERANCE
    assert served.prompt(SMALL, "").placeholders[0].length >= 9
