"""Inputs as prompts, and what stands in the place of one that has none."""

import gc
import weakref

from schemas.endpoints.embeddings import EmbeddingRequest
from service.checkpoint.hub import find_checkpoint
from service.errors import ServiceError
from service.fairness.threads import all_at_once
from service.front.inputs.reader import InputReader
from service.front.served_model import load_served_model
from service.front.serving.from_settings import media_rules
from service.front.tenant import SERVICE
from service.ipc.messages import OutputSpec
from service.prompt.prompt import Prompt
from service.settings import Settings
from tests.conftest import CHECKPOINT


def input_reader() -> InputReader:
    settings = Settings(model=str(CHECKPOINT))
    checkpoint = find_checkpoint(settings.model, None)
    model = load_served_model(checkpoint, served_names=(), strict_reference=False, max_tokens=settings.max_tokens)
    return InputReader(model=model, rules=media_rules(settings, model))


def test_an_error_in_the_place_of_an_input_does_not_keep_the_request() -> None:
    """It did until a collection of everything, which comes after gigabytes of such requests."""
    reader = input_reader()
    request = EmbeddingRequest(input=["a" * 1_000_000, "b"], on_error="per_item")
    job = reader.embedding_job(request, OutputSpec(dimensions=reader.model.profile.dimensions), SERVICE.tenant)
    gc.collect()
    gc.disable()
    try:
        prepared = all_at_once(reader.prompts(job, None))
        refused, prompt = prepared
        assert isinstance(refused, ServiceError)
        assert isinstance(prompt, Prompt)
        known = weakref.ref(refused)
        del prepared, refused
        assert known() is None
    finally:
        gc.enable()
