"""Request bodies to what the engine is sent, by the service's own code: checked, tokenized, images decoded."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.parsing.decode import decode
from service.checkpoint.hub import find_checkpoint
from service.front.engine_client.pending import request_of
from service.front.engine_client.pixel_loader import LoadedMedia
from service.front.inputs.reader import InputReader
from service.front.served_model import load_served_model
from service.front.serving.from_settings import media_rules
from service.front.tenant import SERVICE
from service.ipc.messages import PixelSlot, Request
from service.media.image.decode import load_pixels
from service.media.image.image_file import ImageFile
from service.outputs.ask import Wanted
from service.prompt.prompt import Prompt
from service.settings.settings import Settings
from tests.builders import own_uuids, prompts_of


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
        self._reader = InputReader(
            model=self.model, rules=media_rules(settings, self.model, own_uuids(), self.model.fingerprint)
        )
        own, offer = self.model.own, self.model.offer
        self._asks = (own.of(Wanted(own.types[:1], offer.dimensions, normalize=True), offer),)
        self._ids = count(1)

    def prompts(self, body: dict[str, Any]) -> list[Prompt]:
        """One for each input of a body of `/v1/embeddings`."""
        request = decode(json.dumps(body).encode(), EmbeddingRequest)
        job = self._reader.embedding_job(request, self._asks, SERVICE.tenant)
        return [one for one in prompts_of(self._reader, job) if isinstance(one, Prompt)]

    def requests(self, body: dict[str, Any], store: Callable[[bytes], PixelSlot]) -> Iterator[Request]:
        """Messages to the engine, each image's pixels stored once.

        Args:
            body: of `/v1/embeddings`.
            store: puts pixels where the engine reads them.
        """
        slots: dict[bytes, LoadedMedia] = {}
        for prompt in self.prompts(body):
            for place in prompt.placeholders:
                if place.item.digest not in slots:
                    assert isinstance(place.item, ImageFile)  # no body here has features in place of images
                    slots[place.item.digest] = LoadedMedia(place.item.digest, store(pixels_of(place.item).tobytes()))
            loaded = [slots[place.item.digest] for place in prompt.placeholders]
            yield request_of(next(self._ids), prompt, loaded, self._asks, SERVICE)


def pixels_of(item: ImageFile) -> np.ndarray:
    """A image as the tower sees it, uint8 [height, width, 3]."""
    return load_pixels(item)
