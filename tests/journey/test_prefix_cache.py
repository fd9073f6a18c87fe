"""Prompts after the same instruction, one after the other: all but the first few compute only what is their own."""

from collections.abc import Callable

import numpy as np

from tests.conftest import CHECKPOINT, LiveServer

INSTRUCTION = "Retrieve the passages that answer the question, and prefer those that name a place and a year."
TEXTS = [f"in which year was bridge number {number} built?" for number in range(6)]


def one_by_one(server: LiveServer) -> np.ndarray:
    return np.concatenate([server.vectors({"input": text, "instruction": INSTRUCTION}) for text in TEXTS])


def test_an_instruction_is_computed_once(server: LiveServer, start_server: Callable[..., LiveServer]) -> None:
    """`server` keeps no beginnings."""
    keeping = start_server("--model", str(CHECKPOINT), "--prefix-cache-bytes", "64MiB").wait_until_ready()
    assert np.abs(one_by_one(keeping) - one_by_one(server)).max() <= 2e-6
    num_prompt = len(server.ask("/tokenize", {"input": INSTRUCTION}).json()["tokens"])
    assert keeping.metric("cenote_prefix_cache_tokens_total") >= (len(TEXTS) - 3) * num_prompt / 2
    assert server.metric("cenote_prefix_cache_tokens_total") == 0
