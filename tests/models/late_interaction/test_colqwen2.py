"""ColQwen2 gives the vectors of transformers' own `ColQwen2ForRetrieval`, one for each token, on a small checkpoint."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.execution.isolation import Isolation
from service.engine.scheduling.coalescing import Coalescing
from service.engine.scheduling.result_cache import ResultCache
from service.engine.scheduling.waiting import Waiting
from service.engine.startup.self_check import check_forward
from service.errors import InputError, ModelError
from service.ipc.messages import Failure, Request
from service.outputs.plan import TokenPlan
from service.outputs.tokens import TokensAsk
from tests.conftest import TOLERANCE
from tests.models.late_interaction.checkpoints import MAX_PAGE_TOKENS
from tests.models.late_interaction.reference import ColQwen2Reference
from tests.models.late_pages.served_vectors import ITEMS, PAGES, QUERIES, ServedVectors, difference
from tests.models.vlm.images import LARGE, SMALL, TALL, WIDE

KIND = ("float32",)


@pytest.fixture(scope="module")
def served(folder: Path) -> ServedVectors:
    return ServedVectors(folder)


@pytest.fixture(scope="module")
def reference(folder: Path) -> ColQwen2Reference:
    return ColQwen2Reference(folder)


@pytest.mark.parametrize("name", ITEMS)
def test_an_items_vectors_are_the_references(served: ServedVectors, reference: ColQwen2Reference, name: str) -> None:
    assert difference(served([ITEMS[name]]), [reference(ITEMS[name])]) <= TOLERANCE


def test_a_mixed_batch_gives_what_the_references_padded_batches_give(
    served: ServedVectors, reference: ColQwen2Reference
) -> None:
    mixed = [item for pair in zip(PAGES, QUERIES, strict=False) for item in pair] + PAGES[len(QUERIES) :]
    want = {id(item): one for item, one in zip(QUERIES, reference.queries(QUERIES), strict=True)}
    want |= {id(item): one for item, one in zip(PAGES, reference.pages(PAGES), strict=True)}
    assert difference(served(mixed), [want[id(item)] for item in mixed]) <= TOLERANCE


def test_scores_by_maxsim_are_the_references(served: ServedVectors, reference: ColQwen2Reference) -> None:
    got = reference.scores(served(QUERIES), served(PAGES))
    want = reference.scores(reference.queries(QUERIES), reference.pages(PAGES))
    assert want.std() > 0.1
    assert np.abs(got - want).max() <= TOLERANCE


def test_every_vector_is_of_unit_length_and_there_is_one_for_each_token(served: ServedVectors) -> None:
    for item, vectors in zip(ITEMS.values(), served(list(ITEMS.values())), strict=True):
        assert len(vectors) == len(served.item_prompt(item).plan.ids)
        assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() <= 1e-6


def test_the_processors_limit_of_a_page_holds(served: ServedVectors) -> None:
    (place,) = served.item_prompt(LARGE).placeholders
    assert MAX_PAGE_TOKENS - 15 <= place.length <= MAX_PAGE_TOKENS


def test_the_towers_width_is_that_of_features_and_not_of_vectors(served: ServedVectors) -> None:
    features = served.model.encode(torch.zeros(56, 84, 3, dtype=torch.uint8))
    assert served.model.tower.feature_width == features.shape[1] == 64


def test_positions_that_see_the_image_would_give_other_vectors(
    served: ServedVectors, reference: ColQwen2Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.model, "_counts_plainly", False)
    assert difference(served([TALL]), [reference(TALL)]) > 100 * TOLERANCE


def test_a_prompt_with_one_vector_that_is_not_finite_has_no_answer_and_its_neighbors_do(served: ServedVectors) -> None:
    output = TokensAsk(dimensions=128, output_dtypes=("float32", "ubinary", "int8"))
    requests = [Request(id=id_, plan=TokenPlan([7] * num), asks=(output,)) for id_, num in enumerate((3, 5, 2))]
    raw = torch.randn(10, 128, generator=torch.Generator().manual_seed(1))
    raw[6, 17] = float("nan")
    first, failed, last = served.runner.finish(raw, requests)
    assert failed is None
    assert first is not None
    assert last is not None
    assert [len(first[TokensAsk.row + kind]) for kind in output.output_dtypes] == [3 * 512, 3 * 16, 3 * 128]
    bits = np.frombuffer(last["multi_ubinary"], np.uint8).reshape(2, 16)
    assert np.array_equal(np.unpackbits(bits, axis=1), raw[8:].numpy() >= 0)


def test_those_who_asked_for_the_same_prompt_each_get_all_of_its_vectors(served: ServedVectors) -> None:
    output = TokensAsk(dimensions=128)
    short, long = (Request(id=num, plan=TokenPlan([7] * num), asks=(output,)) for num in (2, 3))
    raw = torch.randn(5, 128, generator=torch.Generator().manual_seed(2))
    got = served.runner.repeat(raw, [short, long], [2, 1])
    assert torch.equal(got, torch.cat([raw[:2], raw[:2], raw[2:]]))


def test_what_cannot_be_finished_fails_alone_and_nobody_gets_anothers_vectors(served: ServedVectors) -> None:
    lengths, raw = (4, 2, 5, 3), torch.randn(14, 128, generator=torch.Generator().manual_seed(3))
    requests = [
        Request(
            id=id_,
            plan=TokenPlan([7] * num),
            asks=(TokensAsk(dimensions=128, output_dtypes=("no format",) * (id_ == 2) or KIND),),
        )
        for id_, num in enumerate(lengths)
    ]
    coalescing: Coalescing[torch.Tensor] = Coalescing(ResultCache(0))
    isolation = Isolation(served.runner, lambda *_: None, EncoderCache(0), coalescing, 100)
    rows = [row for _, row in isolation.finish(raw, [Waiting(one, 0.0, []) for one in requests])]
    assert isinstance(rows[2], Failure)
    want = torch.nn.functional.normalize(raw, dim=1).split(lengths)
    for index in (0, 1, 3):
        row = rows[index]
        assert isinstance(row, dict)
        assert (
            np.abs(np.frombuffer(row["multi_float32"], np.float32).reshape(-1, 128) - want[index].numpy()).max() <= 1e-6
        )


def test_a_vector_without_direction_is_no_vector(served: ServedVectors) -> None:
    request = Request(id=1, plan=TokenPlan([7, 7]), asks=(TokensAsk(dimensions=128),))
    raw = torch.ones(2, 128)
    raw[1] = 0
    assert served.runner.finish(raw, [request]) == [None]


def test_the_known_answer_check_looks_at_every_vector(folder: Path) -> None:
    model = ServedVectors(folder).model
    check_forward(model, is_multi_vector=True)
    embed = model.embed

    def one_is_wrong(batch: object) -> torch.Tensor:
        vectors: torch.Tensor = embed(batch).clone()
        vectors[3] = vectors[3].flip(0)
        return vectors

    model.embed = one_is_wrong
    with pytest.raises(ModelError, match="known-answer check"):
        check_forward(model, is_multi_vector=True)


@pytest.mark.parametrize(
    ("text", "images", "instruction", "code"),
    [
        ("beside", [SMALL], None, "unsupported_modality"),
        ("", [SMALL, WIDE], None, "conflicting_input"),
        ("words", [], "Find pages.", "invalid_request"),
    ],
)
def test_what_the_reference_has_no_prompt_for_is_refused(
    served: ServedVectors, text: str, images: list[Image.Image], instruction: str | None, code: str
) -> None:
    with pytest.raises(InputError) as refused:
        served.prompt(text, images, instruction)
    assert refused.value.code == code
