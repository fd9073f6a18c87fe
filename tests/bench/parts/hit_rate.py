"""Throughput of images by how many of them are in the encoder cache."""

from itertools import count

from tests.bench.figure import Curve, Figure, Measured, exactly
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.work import Work, image_body
from tests.conftest import image

SEED = 400_000
NUM_IMAGES = 8


def run(stage: Stage) -> Measured:
    """Images per second at each share of hits, as the service's answers count them."""
    px, seeds = stage.scale.image_px // 2, count(SEED + NUM_IMAGES)
    known = [image(SEED + n, px, px, "JPEG") for n in range(NUM_IMAGES)]
    stage.service.prepare("known", Work([image_body(known)]))
    stage.service.run("known")

    def case(share: float) -> Case:
        num = round(share * NUM_IMAGES)

        def work(_: int) -> Work:
            new = [image(next(seeds), px, px, "JPEG") for _ in range(NUM_IMAGES - num)]
            return Work([image_body(known[:num] + new)])

        return Case(f"hits {share:g}", stage.service, work, is_fresh=True)

    spent = interleave([case(share) for share in stage.scale.hit_shares], stage.scale.curve_rounds)
    drawn = []
    for share in stage.scale.hit_shares:
        hits = stage.service.usage(f"hits {share:g}", "encoder_cache_hits") / NUM_IMAGES
        drawn.append((hits, spread([NUM_IMAGES / seconds for seconds in spent[f"hits {share:g}"]])))
    words = f"throughput of {px} px images by share of cache hits"
    curve = Curve("hit_rate", words, "share of hits", "images/s", {"service": drawn})
    first, last = (spent[f"hits {share:g}"] for share in (stage.scale.hit_shares[0], stage.scale.hit_shares[-1]))
    gain = Figure("cache_gain", "throughput with every image cached, over none", ratio(first, last), "×",
                  None, stage.scale.curve_rounds, [f"images of {px} px"])  # fmt: skip
    wrong = max(abs(hits - share) for (hits, _), share in zip(drawn, stage.scale.hit_shares, strict=True))
    words = "hits that the answers count, less those that were arranged"
    return Measured([gain, Figure("hit_count_error", words, exactly(wrong))], [curve])


PART = Part("hit_rate", "throughput by hits of the encoder cache", run)
