"""Every score is the official reranker's own, alone and in a batch of all cases.

Source: tests/models/reranker/oracle, made by Qwen3-VL-Reranker's script (8ce3aab, transformers 4.57.3, float32).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.front.inputs.videos import FrameList
from service.media.error_location import ErrorLocation
from service.media.image.header import DecodeLimits
from service.media.video.frame_list import open_frames
from service.media.video.frame_pair import Video
from service.prompt.conversation import Turn
from service.prompt.prompt import Prompt
from tests.builders import image_file
from tests.conftest import TOLERANCE
from tests.models.reranker.scored import Scored, sigmoid

pytestmark = pytest.mark.slow

ORACLE = Path(__file__).parent / "oracle"
CASES: list[dict[str, Any]] = json.loads((ORACLE / "oracle.json").read_text())
STRICT = "special_words"
"""The case with a special token in a text, which is one under `--strict-reference` only."""


@pytest.fixture(scope="module", params=[False, True], ids=["", "strict"])
def scored(request: pytest.FixtureRequest) -> Scored:
    return Scored(ORACLE / "checkpoint", "qwen3_vl_reranker", strict_reference=request.param)


def cases(scored: Scored) -> list[dict[str, Any]]:
    return [case for case in CASES if case["name"] != STRICT or scored.builder._strict]


def test_all_pairs_in_one_batch_have_the_official_logits_and_scores(scored: Scored) -> None:
    prompts = [prompt for case in cases(scored) for prompt in prompts_of(scored, case)]
    logits = scored.logits(prompts)
    assert np.abs(logits - [logit for case in cases(scored) for logit in case["logits"]]).max() <= TOLERANCE
    scores = [score for case in cases(scored) for score in case["scores"]]
    assert np.abs(sigmoid(logits) - scores).max() <= TOLERANCE
    assert np.array_equal(scored.scores(prompts), sigmoid(logits))


def test_each_pair_has_the_official_score_alone(scored: Scored) -> None:
    for case in cases(scored):
        alone = np.concatenate([scored.scores([prompt]) for prompt in prompts_of(scored, case)])
        assert np.abs(alone - case["scores"]).max() <= TOLERANCE, case["name"]


def prompts_of(scored: Scored, case: dict[str, Any]) -> list[Prompt]:
    query = turn(scored, "query", case["query"])
    return [
        scored.prompt(query, turn(scored, "document", document), case.get("instruction"))
        for document in case["documents"]
    ]


def turn(scored: Scored, role: Any, side: dict[str, Any]) -> Turn:
    images = side.get("image", [])
    names = images if isinstance(images, list) else [images]
    assert scored.profile.images is not None
    rule = scored.profile.images.pixel_rule
    files = tuple(image_file((ORACLE / "media" / name).read_bytes(), rule) for name in names)
    videos = tuple(video(scored, one) for one in side.get("video", []))
    return Turn(role, (*videos, *files, side.get("text", "")) if side else ())


def video(scored: Scored, names: list[str]) -> Video:
    assert scored.profile.images is not None
    rule = scored.profile.images.video_rule
    assert rule is not None
    encoded = [(ORACLE / "media" / name).read_bytes() for name in names]
    pairs = open_frames(encoded, [ErrorLocation(None, None)] * len(names), DecodeLimits(), rule)
    return Video(pairs, FrameList(names, names, range(len(names))).times_s(None))
