"""Images that nobody has sent before, in one request."""

from tests.bench.figure import Figure, Measured
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.work import Work, image_body
from tests.conftest import image

SEED = 100_000


def run(stage: Stage) -> Measured:
    """Throughput over tower and language model on pixels that are decoded."""
    scale = stage.scale

    def work(turn: int) -> Work:
        seeds = range(SEED + turn * scale.num_images, SEED + (turn + 1) * scale.num_images)
        return Work([image_body([image(n, scale.image_px, scale.image_px, "JPEG") for n in seeds])], kind="encode")

    spent = interleave(
        [Case("service", stage.service, work, True), Case("bare", stage.bare, work, True)], scale.num_rounds
    )
    rate = scale.num_images / spread(spent["service"]).median
    notes = [f"{scale.num_images} images of {scale.image_px} px; service {rate:.2f} images/s"]
    words = "throughput of unseen images over HTTP, over the bare tower and language model"
    value = ratio(spent["bare"], spent["service"])
    return Measured([Figure("unique_images", words, value, "×", None, scale.num_rounds, notes, spent)])


PART = Part("unique_images", "images that were never seen", run)
