"""Request bodies to what the engine is sent, by the service's own code: checked, tokenized, pictures decoded."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from schemas.decode import decode
from schemas.embeddings import EmbeddingRequest
from service.fairness.threads import all_at_once
from service.front.from_settings import decode_limits, feature_rule, reading_rule
from service.front.inputs import InputReader
from service.front.loaded import LoadedMedia
from service.front.pending import request_of
from service.front.served_model import load_served_model
from service.front.tenant import SERVICE
from service.front.uuids import UuidStore
from service.ipc.messages import OutputSpec, PixelSlot, Request
from service.media.item import MediaItem
from service.media.pixels import load_pixels
from service.model.checkpoint import find_checkpoint
from service.prompt.prompt import Prompt
from service.settings import Settings


class PromptReader:
    """Prompts and requests of one model.

    Attributes:
        model: whose.
    """

    def __init__(self, settings: Settings) -> None:
        checkpoint = find_checkpoint(settings.model, settings.revision)
        self.model = load_served_model(
            checkpoint, served_names=(), strict_reference=settings.strict_reference, max_tokens=settings.max_tokens
        )
        rule, limits = feature_rule(settings, self.model), decode_limits(settings)
        self._reader = InputReader(self.model, limits, UuidStore(0), rule, reading_rule(settings, self.model))
        self._output = OutputSpec(dimensions=self.model.profile.dimensions)
        self._ids = count(1)

    def prompts(self, body: dict[str, Any]) -> list[Prompt]:
        """One for each input of a body of `/v1/embeddings`."""
        request = decode(json.dumps(body).encode(), EmbeddingRequest)
        prepared = all_at_once(self._reader.embedding_job(request, self._output, SERVICE.tenant).prepare())
        return [one for one in prepared if isinstance(one, Prompt)]

    def requests(self, body: dict[str, Any], store: Callable[[bytes], PixelSlot]) -> Iterator[Request]:
        """What the engine is sent, each picture's pixels stored once.

        Args:
            body: of `/v1/embeddings`.
            store: puts pixels where the engine reads them.
        """
        slots: dict[bytes, LoadedMedia] = {}
        for prompt in self.prompts(body):
            for place in prompt.placeholders:
                if place.item.digest not in slots:
                    assert isinstance(place.item, MediaItem)  # no body here has features in place of pictures
                    slots[place.item.digest] = LoadedMedia(place.item.digest, store(pixels_of(place.item).tobytes()))
            loaded = [slots[place.item.digest] for place in prompt.placeholders]
            yield request_of(next(self._ids), prompt, loaded, self._output, SERVICE)


def pixels_of(item: MediaItem) -> np.ndarray:
    """A picture as the tower sees it, uint8 [height, width, 3]."""
    return load_pixels(item)
