"""Sparse vectors over HTTP against the bare packed forward with its head, pooled over the vocabulary."""

import json

import numpy as np

from service.outputs.sparse import unpack_sparse
from tests.bench.checkpoint import splade
from tests.bench.figure import Bar, Figure, Measured
from tests.bench.parts.minilm import LONGEST, NUM_BATCHES
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.sides.remote import RemoteSide
from tests.bench.sides.service import Service
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.texts import TextMaker
from tests.bench.work import Work, text_body

TOLERANCE = 1e-5


def run(stage: Stage) -> Measured:
    """Throughput of one large request for sparse vectors, over that of the bare forward."""
    checkpoint = splade(stage.folder.parent)
    service, bare = stage.serve("splade", checkpoint=checkpoint), stage.bare_of(checkpoint)
    texts = TextMaker(checkpoint).mixed(stage.scale.num_texts * NUM_BATCHES, LONGEST)
    asked = Work([{"texts": texts, "embedding_types": ["sparse"]}], path="/v2/embed")
    cases = [Case("service", service, same(asked)), Case("bare", bare, same(Work([text_body(texts)])))]
    spent = interleave(cases, stage.scale.num_rounds)
    num_entries = _num_entries(service, bare)
    times = ", ".join(f"{name} {spread(seconds).median * 1e3:.1f} ms" for name, seconds in spent.items())
    notes = [
        f"{len(texts)} texts, {bare.num_tokens('bare'):,} tokens; {times}",
        f"the same entries, {num_entries / len(texts):.0f} a text, within {TOLERANCE:.0e}",
    ]
    words = "throughput of mixed texts over HTTP as SPLADE's sparse vectors, over the bare packed forward with its head"
    value, bar = ratio(spent["bare"], spent["service"]), Bar("≥", 0.9)
    return Measured([Figure("splade_over_bare", words, value, "×", bar, stage.scale.num_rounds, notes, spent)])


def _num_entries(service: Service, bare: RemoteSide) -> int:
    """Entries of all vectors of the last round.

    Raises:
        RuntimeError: both sides do not give the same.
    """
    (body,) = service.bodies("service")
    num_entries = 0
    for one, row in zip(json.loads(body)["embeddings"]["sparse"], bare.vectors("bare"), strict=True):
        indices, values = unpack_sparse(row.tobytes())
        if one["indices"] != indices.tolist() or not np.allclose(one["values"], values, rtol=0, atol=TOLERANCE):
            raise RuntimeError("bare gives other sparse vectors")
        num_entries += len(indices)
    return num_entries


PART = Part("splade", "texts as sparse vectors of a SPLADE model on MiniLM's encoder", run)
