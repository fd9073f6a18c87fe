"""Breaks of the engine: what is in one batch, and what happens to it."""

from typing import Any

from tests.scoreboard.breaks.ways import Break, Proxy, around, changed, then


def _by_sum(embed: Any) -> Any:
    """Features are dealt out by the batch's sum: one image's may be another's."""

    def dealt(self: Any, batch: Any) -> Any:
        import torch

        found = [one for waiting in batch for one in waiting.features]
        sizes = [media.num_tokens for waiting in batch for media in waiting.request.media]
        if not found or any(one is None for one in found) or sum(map(len, found)) != sum(sizes):
            return embed(self, batch)
        parts, before = iter(torch.cat(found).split(sizes)), [waiting.features for waiting in batch]
        try:
            for waiting in batch:
                waiting.features = [next(parts) for _ in waiting.features]
            return embed(self, batch)
        finally:
            for waiting, features in zip(batch, before, strict=True):
                waiting.features = features

    return dealt


def _one_image(visual_tokens: Any) -> Any:
    """Placeholders are numbered as if all images of a batch were one."""

    def numbered(batch: Any) -> Any:
        import torch

        sizes = [media.num_tokens for waiting in batch for media in waiting.request.media]
        return changed(visual_tokens(batch), numbers=torch.cat([torch.arange(size) for size in sizes]))

    return numbered


class Unseen(frozenset[int]):
    """Token ids that no prompt is found to hold."""

    def isdisjoint(self, other: Any) -> bool:
        return True


def _one_group(module: Any) -> None:
    attend, group = module.attend, module.Group

    def together(query: Any, key: Any, value: Any, groups: Any, *rest: Any, **named: Any) -> Any:
        return attend(query, key, value, (group(0, 0, len(query), 1, len(query)),), *rest, **named)

    module.attend = together


def _numpy(**functions: Any) -> Any:
    def change(module: Any) -> None:
        module.np = Proxy(module.np, **functions)

    return change


def _not_unique(rows: Any, **_: Any) -> Any:
    return rows, range(len(rows))


def _not_again(module: Any) -> None:
    last_try = module.Isolation._last_try

    def given_up(self: Any, waiting: Any, *, had_memory: bool) -> Any:
        if had_memory:
            return last_try(self, waiting, had_memory=had_memory)
        return module._all_failed([waiting], module.NO_MEMORY, "out_of_memory")

    module.Isolation._last_try = given_up


def _no_halves(*error: str) -> Any:
    def change(module: Any) -> None:
        embed = module.Isolation.embed

        def whole(self: Any, batch: Any) -> Any:
            if getattr(self, "is_half", False):
                return module._all_failed(batch, *(error or (module.INTERNAL,)))
            self.is_half = True
            try:
                return embed(self, batch)
            finally:
                self.is_half = False

        module.Isolation.embed = whole

    return change


RUNNER = "service.engine.execution.runner"
ISOLATION = "service.engine.execution.isolation"
BREAKS = {
    "mixed_batches": (
        Break("features are only checked as a batch's sum", 100, RUNNER, around("ModelRunner.embed", _by_sum)),
        Break("requests attend to each other", 100, "service.model.packed.attention", _one_group),
        Break(
            "images are taken for one another where prompts begin alike",
            100,
            RUNNER,
            around("_visual_tokens", _one_image),
        ),
        Break(
            "DeepStack's levels are added once for each prompt that shares an image",
            100,
            "service.model.qwen3_vl.language",
            _numpy(unique=_not_unique),
        ),
        Break(
            "placeholders in a text without images pass",
            100,
            RUNNER,
            then("ModelRunner.__init__", lambda self, *_: setattr(self, "_pads", Unseen(self._pads))),
        ),
        Break("placeholders without an image pass", 100, RUNNER, _numpy(array_equal=lambda *_: True)),
    ),
    "out_of_memory": (
        Break("a single input is not tried again", 20, ISOLATION, _not_again),
        Break("a batch without memory is not split", 20, ISOLATION, _no_halves("no memory", "out_of_memory")),
    ),
    "poison_batches": (
        Break("a batch fails as a whole", 50, ISOLATION, _no_halves()),
        Break(
            "who shares rows with a poison is not run again",
            50,
            ISOLATION,
            around("Isolation._run_again_alone", lambda _: lambda self, batch, results, spoilt: results),
        ),
        Break(
            "a vector that is no number is sent as one",
            50,
            "cenote_kernels.epilogue",
            around("_alike", lambda alike: lambda raw, *rest: alike(raw.nan_to_num(nan=1.0), *rest)),
        ),
    ),
}
