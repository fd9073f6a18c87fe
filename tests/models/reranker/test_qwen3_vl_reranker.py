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
from service.media.media_item import Video
from service.media.video.frame_list import open_frames
from service.prompt.prompt import Prompt
from tests.conftest import TOLERANCE
from tests.models.served import Served

pytestmark = pytest.mark.slow

ORACLE = Path(__file__).parent / "oracle"
CASES: list[dict[str, Any]] = json.loads((ORACLE / "oracle.json").read_text())
STRICT = "special_words"
"""The case with a special token in a text, which is one under `--strict-reference` only."""


@pytest.fixture(scope="module", params=[False, True], ids=["", "strict"])
def served(request: pytest.FixtureRequest) -> Served:
    return Served(ORACLE / "checkpoint", "qwen3_vl_reranker", strict_reference=request.param)


def test_pairs_have_the_official_logits_and_scores_in_one_batch_and_alone(served: Served) -> None:
    cases = [case for case in CASES if case["name"] != STRICT or served.builder._strict]
    prompts = [prompt for case in cases for prompt in prompts_of(served, case)]
    logits, scores = ([number for case in cases for number in case[what]] for what in ("logits", "scores"))
    assert np.abs(served.vectors(prompts)[:, 0] - logits).max() <= TOLERANCE
    assert np.abs(served.scores(prompts) - scores).max() <= TOLERANCE
    alone = np.concatenate([served.scores([prompt]) for prompt in prompts])
    assert np.abs(alone - scores).max() <= TOLERANCE


def prompts_of(served: Served, case: dict[str, Any]) -> list[Prompt]:
    query, documents = parts(served, case["query"]), [parts(served, one) for one in case["documents"]]
    return [served.pair(query, document, case.get("instruction")) for document in documents]


def parts(served: Served, side: dict[str, Any]) -> tuple[Any, ...]:
    images = side.get("image", [])
    names = images if isinstance(images, list) else [images]
    files = [(ORACLE / "media" / name).read_bytes() for name in names]
    return (*(video(served, one) for one in side.get("video", [])), *files, side.get("text", "")) if side else ()


def video(served: Served, names: list[str]) -> Video:
    assert served.profile.images is not None
    rule = served.profile.images.video_rule
    assert rule is not None
    encoded = [(ORACLE / "media" / name).read_bytes() for name in names]
    pairs = open_frames(encoded, [ErrorLocation(None, None)] * len(names), DecodeLimits(), rule)
    return Video(pairs, FrameList(names, names, range(len(names))).times_s(0.0, 2))
