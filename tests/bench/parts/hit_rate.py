"""Throughput of pictures by how many of them are in the encoder cache."""

from itertools import count

from tests.bench.figure import Curve, Figure, Measured, exactly
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.work import Work, picture_body
from tests.conftest import picture

SEED = 400_000
NUM_PICTURES = 8


def run(stage: Stage) -> Measured:
    """Pictures per second at each share of hits, as the service's answers count them."""
    px, seeds = stage.scale.picture_px // 2, count(SEED + NUM_PICTURES)
    known = [picture(SEED + n, px, px, "JPEG") for n in range(NUM_PICTURES)]
    stage.service.prepare("known", Work([picture_body(known)]))
    stage.service.run("known")

    def case(share: float) -> Case:
        num = round(share * NUM_PICTURES)

        def work(_: int) -> Work:
            new = [picture(next(seeds), px, px, "JPEG") for _ in range(NUM_PICTURES - num)]
            return Work([picture_body(known[:num] + new)])

        return Case(f"hits {share:g}", stage.service, work, is_fresh=True)

    spent = interleave([case(share) for share in stage.scale.hit_shares], stage.scale.curve_rounds)
    drawn = []
    for share in stage.scale.hit_shares:
        hits = stage.service.usage(f"hits {share:g}", "encoder_cache_hits") / NUM_PICTURES
        drawn.append((hits, spread([NUM_PICTURES / seconds for seconds in spent[f"hits {share:g}"]])))
    words = f"throughput of {px} px pictures by share of cache hits"
    curve = Curve("hit_rate", words, "share of hits", "pictures/s", {"service": drawn})
    first, last = (spent[f"hits {share:g}"] for share in (stage.scale.hit_shares[0], stage.scale.hit_shares[-1]))
    gain = Figure("cache_gain", "throughput with every picture cached, over none", ratio(first, last), "×",
                  None, stage.scale.curve_rounds, [f"pictures of {px} px"])  # fmt: skip
    wrong = max(abs(hits - share) for (hits, _), share in zip(drawn, stage.scale.hit_shares, strict=True))
    words = "hits that the answers count, less those that were arranged"
    return Measured([gain, Figure("hit_count_error", words, exactly(wrong))], [curve])


PART = Part("hit_rate", "throughput by hits of the encoder cache", run)
