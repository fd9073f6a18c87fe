"""Known-answer check at start: our packed forward against the stock one, on the weights just loaded."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import normalize

from service.engine.execution.runner import ModelRunner
from service.engine.scheduling.waiting import Waiting
from service.errors import ModelError
from service.ipc.messages import Media, PixelSlot, Request
from service.media.audio.samples import COUNT, put_samples
from service.media.item import MediaKind
from service.model.backbone import Probe
from service.model.model import Model
from service.outputs.ask import OutputAsk

MIN_COSINE = {torch.float32: 0.999999, torch.bfloat16: 0.99, torch.float16: 0.99}

NUM_ROUNDS = 3
"""On a GPU: the first is plain, the second is captured, the third is a graph's."""


def known_answers(model: Model, place: int = 0) -> list[NDArray[np.float32]]:
    """The unit vectors of the model's probes by the stock module's own forward, one by one; a reranker's logits.

    Args:
        place: of the adapter, where several share the weights.
    """
    model.backbone.chosen.place = place
    raw = [model.stock_rows(probe).float() for probe in model.backbone.probes()]
    return [(one if model.own.are_scores else normalize(one, dim=-1)).cpu().numpy() for one in raw]


def check_forward(model: Model, answers: Sequence[NDArray[np.float32]], place: int = 0) -> None:
    """Embed the model's probes packed together and the first alone, and hold them against the stock module's vectors.

    Nothing is shared between the two but the weights. Where each token has a vector, the worst counts. Images lie in a
    buffer of their own, never in the arena: the front may hold decoded images there.

    Args:
        answers: `known_answers` of its stock module.
        place: that they are of.

    Raises:
        ModelError: the vectors differ by more than the dtype explains.
    """
    probes = model.backbone.probes()
    pixels = b"".join(_bytes(probe) for probe in probes)
    runner = ModelRunner(model, memoryview(pixels), place=place)
    waiting = _waiting(runner, probes, model.own.whole_ask)
    batches = (waiting, waiting[:1]) * (1 if model.backbone.device.type == "cpu" else NUM_ROUNDS)
    wanted, ours = [answers[place] for batch in batches for place in range(len(batch))], list[NDArray[np.float32]]()
    for batch in batches:
        found = runner.embed(batch)
        if model.own.are_scores:
            ours.append(found[model.own.kind].rows.cpu().numpy())
            continue
        for row in runner.finish(found, [one.request for one in batch]):
            if row is None:
                raise ModelError("non_finite_embedding", "the known-answer check gave a vector that is not finite")
            (numbers,) = row.values()
            ours.append(np.frombuffer(numbers, np.float32).reshape(wanted[len(ours)].shape))
    cosine, least = _least_cosine(ours, wanted, are_scores=model.own.are_scores), MIN_COSINE[model.backbone.dtype]
    if not cosine >= least:
        raise ModelError("internal_error", f"the known-answer check gave cosine {cosine:.7f}, at least {least} is due")


def _least_cosine(
    ours: Sequence[NDArray[np.float32]], wanted: Sequence[NDArray[np.float32]], *, are_scores: bool
) -> float:
    """The least cosine of two unit vectors that belong together; scores and sparse vectors are one, of all probes."""
    if not are_scores:
        return min(float((one * want).sum(-1).min()) for one, want in zip(ours, wanted, strict=True))
    got, want = (np.concatenate(rows).ravel() for rows in (ours, wanted))
    norms = np.linalg.norm(got) * np.linalg.norm(want)
    return float(got @ want / norms) if norms or not np.array_equal(got, want) else 1.0


def _bytes(probe: Probe) -> bytes:
    if probe.samples is not None:
        return put_samples(probe.samples, COUNT.size + probe.samples.nbytes).tobytes()
    return b"" if probe.pixels is None else probe.pixels.tobytes()


def _waiting(runner: ModelRunner, probes: Sequence[Probe], ask: OutputAsk) -> list[Waiting[torch.Tensor]]:
    """The probes as requests, images encoded, their slots one after the other."""
    start = 0
    waiting: list[Waiting[torch.Tensor]] = []
    for id_, probe in enumerate(probes):
        slot = PixelSlot(start, len(_bytes(probe)))
        media: tuple[Media, ...] = ()
        if slot.num_bytes:
            is_pair = probe.pixels is not None and probe.pixels.ndim == 4
            kind: MediaKind = "audio" if probe.samples is not None else "video" if is_pair else "image"
            grid_thw, num_tokens = probe.grid_thw, probe.num_tokens
            media = (
                Media(key=b"", grid_thw=grid_thw, offset=probe.offset, num_tokens=num_tokens, kind=kind, slot=slot),
            )
        request = Request(id=id_, plan=probe.plan, media=media, asks=(ask,))
        features = [runner.encode(one, slot) for one in media]
        waiting.append(Waiting(request, 0.0, [*features]))
        start += slot.num_bytes
    return waiting
