"""A document of too many vectors to be joined is refused by its place."""

from pathlib import Path

import pytest

from service.checkpoint.hub import find_checkpoint
from service.errors import InputError
from service.front.served_model import load_served_model
from service.outputs import tokens
from service.outputs.plan import TokenPlan
from tests.models.late.colberts import SHAPES, native


def test_a_document_of_too_many_vectors_is_refused_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = find_checkpoint(str(native("bert", tmp_path / "colbert", SHAPES["hidden masks"])), None)
    model = load_served_model(checkpoint, served_names=(), strict_reference=False, max_tokens=0)
    monkeypatch.setattr(tokens, "MAX_POOLED", 8)
    ask = tokens.TokensAsk(dimensions=8, pool_factor=3)
    ask.check_prompt(TokenPlan(list(range(10)), skipped=(3, 4)), False, model.offer, "texts[1]", 1)
    with pytest.raises(InputError, match="has 9 vectors; with `pool_factor` it may have 8") as raised:
        ask.check_prompt(TokenPlan(list(range(9))), False, model.offer, "texts[1]", 1)
    assert (raised.value.param, raised.value.index) == ("texts[1]", 1)
