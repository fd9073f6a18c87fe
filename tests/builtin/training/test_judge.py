"""The reranker's training forward, its batches and its loss."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import Qwen3VLForConditionalGeneration, Qwen3VLModel

from cenote_builtin.architecture import HIDDEN
from cenote_builtin.checkpoint import write_reranker
from cenote_builtin.scenes.batches import NUM_CELL_ATTRIBUTES
from cenote_builtin.scenes.scenes import draw, is_held_out, meaning
from cenote_builtin.scoring.pair_reference import PairReference
from cenote_builtin.tokenizer import judging_tokenizer
from cenote_builtin.training.judge import Judge, Lesson, judgment_loss, visible
from cenote_builtin.training.pairs import NUM_DOCUMENTS, PairBatch, PairMaker, Stage, mrope_positions
from cenote_builtin.training.picture_pool import FAMILY_SIZE, NUM_CONFUSED, PicturePool, make_pool
from cenote_builtin.training.train_reranker import start_model
from service.checkpoint.hub import CHECKPOINT
from service.checkpoint.tower_files import same_towers
from service.prompt.detect import load_profile

pytestmark = pytest.mark.slow

SIDE = 96
NUM_FAMILIES = NUM_CONFUSED + 12
HARD = Stage(max_objects=4, num_relatives=4, is_first=False)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return judging_tokenizer(Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json")))


@pytest.fixture(scope="module")
def reranker(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that has learned nothing yet, as it is written."""
    folder = tmp_path_factory.mktemp("reranker")
    write_reranker(folder, start_model(CHECKPOINT, tokenizer, seed=1), tokenizer)
    return folder


@pytest.fixture(scope="module")
def pool() -> PicturePool:
    embedder = Qwen3VLModel.from_pretrained(CHECKPOINT, dtype=torch.float32).train(mode=False)
    known = Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json"))
    return make_pool(embedder, known, seed=1, side=SIDE, num_families=NUM_FAMILIES)


def test_the_training_forward_gives_the_logits_of_the_stock_one(
    pool: PicturePool, tokenizer: Tokenizer, reranker: Path
) -> None:
    model = Qwen3VLForConditionalGeneration.from_pretrained(reranker, dtype=torch.float32)
    batch = PairMaker(pool, tokenizer, seed=1).batch(0, 4, HARD)
    with torch.inference_mode():
        logits, pictures = Judge(model, tokenizer).logits(batch, pool.features(batch.images))
    assert pictures.shape == (len(batch.agreements), 9, HIDDEN)
    np.testing.assert_allclose(
        logits.numpy().ravel(), stock_logits(pool, tokenizer, batch, reranker), atol=5e-3
    )  # float16 features


def stock_logits(pool: PicturePool, tokenizer: Tokenizer, batch: PairBatch, reranker: Path) -> np.ndarray:
    """Of the same pairs, each by itself, read back from the batch's tokens."""
    reference, images = PairReference(reranker), iter(batch.images)
    pad = tokenizer.token_to_id("<|image_pad|>")
    found = []
    for ids, parts in zip(batch.ids, batch.parts, strict=True):
        runs = [ids[parts == part].tolist() for part in range(1 + NUM_DOCUMENTS)]
        texts = [tokenizer.decode(run, skip_special_tokens=False) for run in runs]
        drawn = [[draw(pool.scenes[next(images)], SIDE)] if pad in run else [] for run in runs]
        for text, image in zip(texts[1:], drawn[1:], strict=True):
            found.append(reference.judge([texts[0] + text], [*drawn[0], *image]).item())
    return np.array(found)


def test_its_family_and_its_tower_are_known_from_its_files(reranker: Path) -> None:
    assert load_profile(reranker, None).is_reranker
    assert same_towers([CHECKPOINT, reranker]) == [0, 0]


def test_families_are_of_the_trainings_scenes_and_the_tower_sees_each_once(pool: PicturePool) -> None:
    assert len(pool.scenes) == NUM_FAMILIES * FAMILY_SIZE
    assert not any(is_held_out(scene) for scene in pool.scenes)
    assert [level.shape for level in pool.levels] == [(len(pool.scenes), 9, 256)] * 3
    for first in range(0, len(pool.scenes), FAMILY_SIZE):
        scene, twin, *others = pool.scenes[first : first + FAMILY_SIZE]
        assert (twin.objects == scene.objects, twin.look == scene.look) == (True, False)
        assert all(other.objects != scene.objects for other in others)


def test_wrong_candidates_are_wrong(pool: PicturePool) -> None:
    for aspect, places in pool.confused.items():
        for family, confused in enumerate(places):
            own = meaning(pool.scenes[family * FAMILY_SIZE], aspect)
            assert all(meaning(pool.scenes[int(one)], aspect) != own for one in confused), aspect


def test_the_same_step_gives_the_same_batch_with_an_answer_in_every_row(
    pool: PicturePool, tokenizer: Tokenizer
) -> None:
    one, again, other = (PairMaker(pool, tokenizer, seed=1).batch(step, 8, HARD) for step in (5, 5, 6))
    assert np.array_equal(one.ids, again.ids)
    assert one.images == again.images
    assert not np.array_equal(one.ids[:, :200], other.ids[:, :200])
    assert (one.labels.max(axis=1) == 1).all()
    assert 0.1 < one.labels.mean() < 0.9


def test_documents_of_a_query_do_not_see_each_other() -> None:
    mask = visible(torch.tensor([[0, 0, 1, 1, 2, -1]]))[0, 0]
    want = ["100000", "110000", "111000", "111100", "110010", "110001"]
    assert ["".join(str(int(one)) for one in row) for row in mask] == want


def test_positions_behind_an_image_advance_by_its_side() -> None:
    seen = np.array([0, 1, 1, 1, 1, 0, 0], bool)
    assert mrope_positions(seen).tolist() == [[0, 1, 1, 1, 1, 3, 4], [0, 1, 1, 2, 2, 3, 4], [0, 1, 2, 1, 2, 3, 4]]


def test_the_loss_falls_with_right_answers_and_has_its_formulas_value() -> None:
    labels = torch.tensor([[1.0, 0.0, 0.0]])
    at_first = judgment_loss(torch.zeros(1, 3), labels)
    assert at_first.item() == pytest.approx(math.log(2) + math.log(3))
    assert judgment_loss(torch.tensor([[9.0, -9.0, -9.0]]), labels) < 0.001
    assert judgment_loss(torch.tensor([[-9.0, 9.0, -9.0]]), labels) > at_first


def test_the_lesson_learns_from_what_its_maps_can_read(pool: PicturePool, tokenizer: Tokenizer) -> None:
    """States that hold the answers themselves bring its loss to almost nothing."""
    batch = PairMaker(pool, tokenizer, seed=1).batch(0, 8, HARD)
    assert batch.says_all.any()
    lesson = Lesson()
    answers = np.concatenate([batch.asked, batch.agreements[..., None]], axis=2) * 2 - 1
    states = torch.zeros(len(answers), 9, HIDDEN)
    states[..., : answers.shape[2]] = torch.from_numpy(answers)
    with torch.no_grad():
        for number, part in enumerate((lesson.asked, lesson.agrees)):
            part.weight.zero_()
            part.bias.zero_()
            for row in range(len(part.weight)):
                part.weight[row, row if number == 0 else NUM_CELL_ATTRIBUTES] = 40.0
        assert lesson(states, batch, side_tokens=3).max() < 1e-3
        assert lesson(-states, batch, side_tokens=3).min() > 1


def test_the_first_stage_asks_simple_things_about_small_scenes(pool: PicturePool, tokenizer: Tokenizer) -> None:
    maker = PairMaker(pool, tokenizer, seed=1)
    first = maker.batch(0, 8, Stage(max_objects=1, num_relatives=0, is_first=True))
    pad = tokenizer.token_to_id("<|image_pad|>")
    assert not (first.ids[first.parts == 0] == pad).any()
    assert (first.asked.any(axis=2).sum(axis=1) <= 2).all()
