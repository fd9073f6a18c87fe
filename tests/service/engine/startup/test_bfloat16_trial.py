"""The start's line on `--dtype bfloat16`: its cosine is that of a model in bfloat16, and nothing else changes."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cosine_similarity

from service.checkpoint.hub import CHECKPOINT
from service.engine.startup import bfloat16_trial
from service.engine.startup.bfloat16_trial import NUM_PROMPTS, say_if_faster, try_bfloat16, warn_if_slower
from service.engine.startup.self_check import check_forward, known_answers
from service.engine.startup.weight_formats import known_prompts, prepack
from service.model.architectures import load_model
from service.model.linear import cpu_backend
from service.model.linear.cpu_backend import has_bfloat16, packed_products
from service.model.model import Model
from tests.conftest import LiveServer

CPU = torch.device("cpu")


def loaded(dtype: torch.dtype) -> Model:
    if packed_products(CPU, torch.bfloat16) is None:
        pytest.skip("no oneDNN for bfloat16 on this processor")
    return load_model("qwen3_vl", CHECKPOINT, CPU, dtype, "last_token")


def test_the_line_has_the_cosine_of_a_model_in_bfloat16(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cpu_backend, "has_bfloat16", lambda: True)
    monkeypatch.setattr(bfloat16_trial, "LEAST_GAIN", 0)
    model, half = loaded(torch.float32), loaded(torch.bfloat16)
    answers, trial = known_answers(model), try_bfloat16(model)
    assert trial is not None
    prepack(model, with_decoder=True)
    prepack(half, with_decoder=True)
    check_forward(model, answers)
    assert model.own_decoder is not None
    assert half.own_decoder is not None
    batch = known_prompts(model.own_decoder.language.embed_tokens.num_embeddings, NUM_PROMPTS)
    want, other = (one.own_decoder.language.forward(batch, last_only=True).float() for one in (model, half))
    assert cosine_similarity(trial.vectors, other, dim=-1).min() > 0.9999  # norms of a whole model are rounded, too
    with caplog.at_level(logging.INFO, "cenote.engine"):
        say_if_faster(model, trial)
    cosine = float(cosine_similarity(trial.vectors, want, dim=-1).min())
    assert 0.99 < cosine < 0.999999
    assert f"cosine of the vectors to those in float32 at least {cosine:.5f}" in caplog.text
    assert "--dtype bfloat16 would be faster" in caplog.text


def test_nothing_is_said_of_a_small_gain(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(cpu_backend, "has_bfloat16", lambda: True)
    monkeypatch.setattr(bfloat16_trial, "LEAST_GAIN", float("inf"))
    model = loaded(torch.float32)
    with caplog.at_level(logging.INFO, "cenote.engine"):
        say_if_faster(model, try_bfloat16(model))
        say_if_faster(model, None)
    assert not caplog.records


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_format_in_which_a_product_takes_longer_is_warned_of(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    half = load_model("qwen3_vl", CHECKPOINT, CPU, dtype, "last_token")
    for least, is_said in ((0, True), (float("inf"), False)):
        monkeypatch.setattr(bfloat16_trial, "LEAST_GAIN", least)
        caplog.clear()
        of_card = warn_if_slower(half)
        name, slow = str(dtype).removeprefix("torch."), r"a product takes \d+\.\d times as long as in float32"
        assert bool(re.search(rf"--dtype {name} is slow .* {slow}", caplog.text)) is is_said
        assert bool(re.fullmatch(rf"; {name}: {slow}", of_card)) is is_said
    monkeypatch.setattr(bfloat16_trial, "LEAST_GAIN", 0)
    caplog.clear()
    assert not warn_if_slower(load_model("qwen3_vl", CHECKPOINT, CPU, torch.float32, "last_token"))
    assert not caplog.records


@pytest.mark.slow  # servers of their own
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "auto"])
def test_the_start_and_the_card_say_it_where_the_processor_has_no_such_instructions(
    dtype: str, start_server: Callable[..., LiveServer]
) -> None:
    held = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
    server = start_server("--dtype", dtype, env=held).wait_until_ready()
    said, (card, *_) = server.log.read_text(), server.http.get("/v1/models").json()["data"]
    kernels, _, slow = card["kernels"].partition(f"; {dtype}: a product takes ")
    assert f"kernels for the processor: {kernels}" in said
    if dtype == "auto":
        assert card["dtype"] == "float32"
        assert not slow
        assert "is slow" not in said
    else:
        assert f"--dtype {dtype} is slow on this processor" in said
        ratio, _ = slow.split(" times as long as in float32")
        assert float(ratio) > 1.15


def test_there_is_no_trial_where_it_could_not_be_faster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    monkeypatch.setattr(cpu_backend, "CPUINFO", cpuinfo)
    model = loaded(torch.float32)
    assert try_bfloat16(model) is None
    for flags, is_there in (("avx2 avx512f", False), ("avx512f avx512_bf16 gfni", True), ("amx_bf16", True)):
        cpuinfo.write_text(f"flags\t\t: fpu {flags}\nbugs\t\t:\n")
        assert has_bfloat16() is is_there
    assert try_bfloat16(loaded(torch.bfloat16)) is None
