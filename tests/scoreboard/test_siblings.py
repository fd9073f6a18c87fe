"""A decoder has a row in every line that its siblings have, and a line's tests are there."""

from service.decode.isolated import IsolatedDecoder
from tests.conftest import ROOT
from tests.scoreboard.board import line_names
from tests.scoreboard.lines import fairness_before_engine, media_bombs, optimized, worker_memory

MUTATED = {"image": "mutated_images", "video": "mutated_videos", "audio": "mutated_audio", "PDF": "mutated_pdfs"}
HELD = {"image": "images", "video": "videos", "audio": "audio", "PDF": "pages"}


def test_every_decoder_is_given_broken_files_and_files_that_take_memory() -> None:
    kinds = {decoder.what for decoder in IsolatedDecoder.__subclasses__()}
    assert kinds == set(MUTATED) == set(HELD)
    assert set(MUTATED.values()) <= set(line_names())
    assert {kind.name for kind in worker_memory.KINDS} == set(HELD.values())
    assert {"decode", "pages", "videos", "audio"} <= {kind.name for kind in fairness_before_engine.KINDS}
    assert set(media_bombs.SMALL) == {"image", "page"}  # what is measured from its header, without a decoder's help


def test_what_is_run_without_asserts_is_there() -> None:
    assert [path for path in optimized.CI if not (ROOT / path).exists()] == []
