"""Embeds rows of a table on an engine of its own: an actor of Ray Data.

In: `id`, and any of `text`, `image` and `instruction`. Out: `id`, `embedding` (float32), `error_code`, `error`.
No HTTP: rows become a request of `/v1/embeddings`, and are read like its inputs.
"""

import asyncio
import base64
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from schemas.content.parts import Content, ContentPart, ImageUrl, ImageUrlPart, TextPart
from schemas.endpoints.embeddings import EmbeddingRequest
from service import logs
from service.errors import InputError, ServiceError, UnavailableError
from service.front.hub.hosted_front import HostedFront
from service.front.job import EmbedResult
from service.front.serving.serving import Serving
from service.front.tenant import ANYONE, Caller
from service.outputs.dense import DenseAsk
from service.outputs.kinds import check_fits
from service.settings.setting_sources import load_settings
from service.settings.settings import SettingsError

TICK_S = 0.05
MAX_WAITS = 60
"""Waits of a batch for a restarting engine, before the job fails and can be resumed."""
END_S = 5.0
"""Until an engine has ended."""

RESULT = pa.schema(
    [
        ("id", pa.string()),
        ("embedding", pa.list_(pa.float32())),
        ("error_code", pa.string()),
        ("error", pa.string()),
    ]
)
EMPTY = ("invalid_request", "expected `text` or `image`, got neither")

Row = Mapping[str, Any]
Result = dict[str, Any]


class EngineFailedError(Exception):
    """The engine cannot start."""


class RowEmbedder:
    """One engine, and the event loop of its client."""

    def __init__(self, settings: Mapping[str, str], dimensions: int | None = None) -> None:
        """Start the engine and wait until it is ready; `settings` override the machine's environment.

        Raises:
            EngineFailedError: the engine cannot start.
            SettingsError: the settings name several models, or one without a dense vector.
        """
        loaded = load_settings(settings, os.environ)
        if loaded.models:
            raise SettingsError(f"the job embeds with one model, and {loaded.model_ids} are given")
        logs.configure(loaded.log_format, loaded.log_level)
        self._dimensions = dimensions
        self._serving = Serving(loaded, HostedFront(loaded))
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="engine", daemon=True).start()
        self._running = asyncio.run_coroutine_threadsafe(self._serving.run(), self._loop)
        while self._serving.health().status != "ok":
            if self._serving.failure is not None:
                raise EngineFailedError(self._serving.failure)
            time.sleep(TICK_S)
        try:
            check_fits(self._serving.main().model.offer, "dense", "the bulk job")
        except InputError as error:
            self._running.cancel()
            raise SettingsError(error.message) from None

    def __del__(self) -> None:
        """End the engine, when Ray Data drops its embedder at the end of a job: Ray ends child processes next."""
        if running := getattr(self, "_running", None):  # absent where the constructor raised
            running.cancel()
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(self._serving.ended.wait(), self._loop).result(END_S)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """The vectors of a batch's rows, in order."""
        rows: list[Row] = batch.to_pylist()
        results: list[Result | None] = [None] * len(rows)
        by_instruction: dict[str | None, list[int]] = {}
        for index, row in enumerate(rows):
            if row.get("text") is None and row.get("image") is None:
                results[index] = _dead(row, *EMPTY)
            else:
                by_instruction.setdefault(row.get("instruction"), []).append(index)
        for instruction, indices in by_instruction.items():
            mine = [rows[index] for index in indices]
            for index, result in zip(indices, self._embedded(mine, instruction), strict=True):
                results[index] = result
        return pa.Table.from_pylist([one for one in results if one is not None], RESULT)

    def _embedded(self, rows: Sequence[Row], instruction: str | None) -> list[Result]:
        request = EmbeddingRequest(
            inputs=[Content(content=_parts(row)) for row in rows], instruction=instruction, on_error="per_item"
        )
        try:
            result = asyncio.run_coroutine_threadsafe(self._ask(request), self._loop).result()
        except UnavailableError:
            raise
        except ServiceError as error:  # of all rows, such as an instruction that the model does not take
            return [_dead(row, error.code, error.message) for row in rows]
        return [
            _dead(row, one.code, one.message)
            if isinstance(one, ServiceError)
            else _alive(row, np.frombuffer(one.vector.rows["float32"], np.float32))
            for row, one in zip(rows, result.inputs, strict=True)
        ]

    async def _ask(self, request: EmbeddingRequest) -> EmbedResult:
        for wait in range(MAX_WAITS + 1):
            try:
                online = self._serving.main()
                dimensions = self._dimensions or online.model.profile.dimensions
                if self._dimensions:
                    online.model.check_dimensions(dimensions, "dimensions")
                asks = (DenseAsk(dimensions=dimensions, normalize=online.model.profile.normalize),)
                job = online.reader.embedding_job(request, asks, ANYONE)
                return await online.embedder.embed(job, Caller(ANYONE))
            except UnavailableError as error:
                if wait == MAX_WAITS:
                    raise
                await asyncio.sleep(error.retry_after_s)
        raise AssertionError("the last wait returns or raises")


def _parts(row: Row) -> list[ContentPart]:
    parts: list[ContentPart] = []
    if row.get("image") is not None:
        parts.append(ImageUrlPart(image_url=ImageUrl(url=base64.b64encode(row["image"]).decode())))
    if row.get("text") is not None:
        parts.append(TextPart(text=row["text"]))
    return parts


def _alive(row: Row, vector: np.ndarray) -> Result:
    return {"id": str(row["id"]), "embedding": vector}


def _dead(row: Row, code: str, message: str) -> Result:
    return {"id": str(row["id"]), "error_code": code, "error": message}
