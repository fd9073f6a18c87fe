"""Parts of a request as turns, inputs as prompts, and what stands in the place of one that has none."""

import gc
import json
import shutil
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from schemas.content.parts import Content, ImageUrlPart, TextPart
from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from service.checkpoint.hub import find_checkpoint
from service.errors import InputError, ServiceError
from service.front.inputs.conversations import read_conversation
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.reader import InputReader
from service.front.inputs.sources import embed_inputs
from service.front.job import PromptOptions
from service.front.served_model import load_served_model
from service.front.serving.from_settings import media_rules
from service.front.tenant import SERVICE
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from service.prompt.conversation import Conversation, Turn
from service.prompt.prompt import Prompt
from service.settings.settings import Settings
from tests.builders import image_file, noise, own_uuids, prompts_of
from tests.conftest import CHECKPOINT


def input_reader(folder: Path = CHECKPOINT) -> InputReader:
    settings = Settings(model=str(folder))
    checkpoint = find_checkpoint(settings.model, None)
    model = load_served_model(checkpoint, served_names=(), strict_reference=False, max_tokens=settings.max_tokens)
    return InputReader(model=model, rules=media_rules(settings, model, own_uuids(), model.fingerprint))


def test_an_error_in_the_place_of_an_input_does_not_keep_the_request() -> None:
    """It did until a collection of everything, which comes after gigabytes of such requests."""
    reader = input_reader()
    request = EmbeddingRequest(input=["a" * 1_000_000, "b"], on_error="per_item")
    job = reader.embedding_job(request, (DenseAsk(dimensions=reader.model.profile.dimensions),), SERVICE.tenant)
    gc.collect()
    gc.disable()
    try:
        prepared = prompts_of(reader, job)
        refused, prompt = prepared
        assert isinstance(refused, ServiceError)
        assert isinstance(prompt, Prompt)
        known = weakref.ref(refused)
        del prepared, refused
        assert known() is None
    finally:
        gc.enable()


def test_an_id_that_the_tokenizer_has_and_the_embedding_has_not_is_refused(tmp_path: Path) -> None:
    """It would be looked up after the embedding's end; people add tokens and leave the weights as they are."""
    folder = tmp_path / "less"
    shutil.copytree(CHECKPOINT, folder)
    num_rows = json.loads((folder / "config.json").read_text())["text_config"]["vocab_size"]
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["added_tokens"].append(tokenizer["added_tokens"][-1] | {"content": "<|new|>", "id": num_rows})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    reader = input_reader(folder)
    last = reader.model.num_embedded - 1
    asks = (DenseAsk(dimensions=reader.model.profile.dimensions),)
    whole = reader.embedding_job(EmbeddingRequest(input=[[1, 99]]), asks, SERVICE.tenant)
    assert prompts_of(reader, whole) == [Prompt(TokenPlan([1, 99]), (), truncated=False)]
    beyond = reader.embedding_job(EmbeddingRequest(input=[[1, 99, num_rows]]), asks, SERVICE.tenant)
    with pytest.raises(InputError, match=f"a token id from 0 to {last}, got the token id {num_rows}") as caught:
        prompts_of(reader, beyond)
    assert caught.value.param == "input[0][2]"


def test_within_a_turn_images_come_first_and_texts_join_with_nothing_between() -> None:
    images = {name: image_file(noise(64, 64, seed)) for seed, name in enumerate(("one", "two"))}
    profile = SimpleNamespace(layout=None)
    reader = SimpleNamespace(read=lambda place: [images[place.part.image_url]], profile=profile)
    first, second = (ImageUrlPart(image_url=name) for name in images)
    parts = [TextPart(text="Com"), first, TextPart(text="pare"), second, TextPart(text="")]
    request = EmbedRequest(inputs=[Content(content=parts)])
    (one,) = embed_inputs(request, PromptOptions(Conversation("Find it")))
    assert [place.param for place in one.media] == ["inputs[0].content[1]", "inputs[0].content[3]"]
    conversation = read_conversation(one, cast(MediaReader, reader), 0)
    assert conversation.turns == (Turn("user", (*images.values(), "Compare")),)
    assert conversation.instruction == "Find it"
