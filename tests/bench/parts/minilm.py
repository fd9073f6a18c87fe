"""A small model that people really run, with its real weights: the service over HTTP against runtimes in process."""

from collections.abc import Mapping
from functools import cache

from tests.bench.agreement import check_agreement, check_tokens
from tests.bench.figure import Bar, Figure, Spread, ratio, spread
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.sides.remote import RemoteSide
from tests.bench.sides.side import Side
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

LONGEST = 250
"""Tokens of a text: the model cuts at 256, with its own two."""
NUM_BATCHES = 4
"""Times the texts of other parts: peers sort by length, and a single batch of 32 would leave nothing to sort."""
QUERY_TOKENS = 8
NUM_WARM = 5
PEERS = {
    "onnxruntime": "ONNX Runtime in process",
    "openvino": "OpenVINO in process",
    "torch": "sentence-transformers `encode` on torch in process",
}


BATCH = ("minilm", "throughput of mixed texts over HTTP on MiniLM, over")
SHORT = ("minilm_short", "time of one short query over HTTP on MiniLM, over")
"""Name and words of what is compared with every peer, before the peer's own."""
BARS = {"minilm_over_openvino": Bar("≥", 1.4), "minilm_short_over_onnxruntime": Bar("≤", 1.3)}


def run(stage: Stage) -> list[Figure]:
    """Throughput of a large request, and the time of one short query, each over that of every peer."""
    found = {
        "onnxruntime": stage.exported("onnxruntime"),
        "openvino": stage.exported("openvino"),
        "torch": stage.sentence,
    }
    peers = {name: side for name, side in found.items() if side is not None}
    return [*_batch(stage, peers), *_short(stage, peers)]


def _batch(stage: Stage, peers: Mapping[str, RemoteSide]) -> list[Figure]:
    texts = stage.texts.mixed(stage.scale.num_texts * NUM_BATCHES, LONGEST)
    work = same(Work([text_body(texts)]))
    spent = interleave([Case(name, side, work) for name, side in _sides(stage, peers)], stage.scale.num_rounds)
    values = {name: ratio(spent[name], spent["service"]) for name in peers}
    return _figures(BATCH, stage, peers, spent, values)


def _short(stage: Stage, peers: Mapping[str, RemoteSide]) -> list[Figure]:
    @cache  # all sides of a round get the same query
    def query(_: int) -> Work:
        return Work([text_body([stage.texts.text(QUERY_TOKENS)])])

    cases = [Case(name, side, query, is_fresh=True) for name, side in _sides(stage, peers)]
    spent = interleave(cases, stage.scale.num_short_rounds, NUM_WARM)
    values = {name: ratio(spent["service"], spent[name]) for name in peers}
    return _figures(SHORT, stage, peers, spent, values)


def _sides(stage: Stage, peers: Mapping[str, RemoteSide]) -> list[tuple[str, Side]]:
    return [("service", stage.service), *peers.items()]


def _figures(
    compared: tuple[str, str],
    stage: Stage,
    peers: Mapping[str, RemoteSide],
    spent: Mapping[str, list[float]],
    values: Mapping[str, Spread],
) -> list[Figure]:
    """One for each peer; without a value for those that are not installed."""

    def figure(peer: str) -> Figure:
        name, what = f"{compared[0]}_over_{peer}", f"{compared[1]} {PEERS[peer]}"
        if peer not in peers:
            return Figure(name, what, None, "×", BARS.get(name), 0)
        both = {side: spent[side] for side in ("service", peer)}
        times = [f"{side} {spread(seconds).median * 1e3:.1f} ms" for side, seconds in both.items()]
        notes = [", ".join(times), *_checked(stage, peer, peers[peer])]
        return Figure(name, what, values[peer], "×", BARS.get(name), len(spent[peer]), notes, both)

    return [figure(peer) for peer in PEERS]


def _checked(stage: Stage, peer: str, side: RemoteSide) -> list[str]:
    """Notes on what the last round read and gave, which is the same as the service's, and on versions."""
    num_tokens = stage.service.usage("service", "total_tokens")
    check_tokens(peer, num_tokens, side.num_tokens(peer))
    agreed = check_agreement(peer, side.vectors(peer), stage.service.vectors("service"))
    versions = ", ".join(f"{package} {version}" for package, version in side.facts.items())
    return [f"{num_tokens:,} tokens on both sides", agreed, versions]


PART = Part("minilm", "all-MiniLM-L6-v2 with its real weights, against runtimes in process", run, model="minilm")
