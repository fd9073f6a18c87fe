"""Pictures that nobody has sent before, in one request."""

from tests.bench.figure import Figure, Measured
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.work import Work, picture_body
from tests.conftest import picture

SEED = 100_000


def run(stage: Stage) -> Measured:
    """Throughput over tower and language model on pixels that are decoded."""
    scale = stage.scale

    def work(turn: int) -> Work:
        seeds = range(SEED + turn * scale.num_pictures, SEED + (turn + 1) * scale.num_pictures)
        return Work(
            [picture_body([picture(n, scale.picture_px, scale.picture_px, "JPEG") for n in seeds])], kind="encode"
        )

    spent = interleave(
        [Case("service", stage.service, work, True), Case("bare", stage.bare, work, True)], scale.num_rounds
    )
    rate = scale.num_pictures / spread(spent["service"]).median
    notes = [f"{scale.num_pictures} pictures of {scale.picture_px} px; service {rate:.2f} pictures/s"]
    words = "throughput of unseen pictures over HTTP, over the bare tower and language model"
    value = ratio(spent["bare"], spent["service"])
    return Measured([Figure("unique_images", words, value, "×", None, scale.num_rounds, notes, spent)])


PART = Part("unique_images", "pictures that were never seen", run)
