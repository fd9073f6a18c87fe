"""Parts of a request as turns, inputs as prompts, and what stands in the place of one that has none."""

import gc
import json
import shutil
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from schemas.content.parts import Content, ImageUrlPart, TextPart
from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.models import LongTexts
from service.checkpoint.hub import find_checkpoint
from service.errors import InputError, ServiceError
from service.front.inputs.conversations import read_conversation
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.reader import InputReader
from service.front.inputs.sources import embed_inputs, embedding_truncation
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
from tests.conftest import image as image_uri


def input_reader(folder: Path = CHECKPOINT, long_texts: LongTexts = "refuse", max_tokens: int = 0) -> InputReader:
    settings = Settings(model=str(folder), max_tokens=max_tokens)
    checkpoint = find_checkpoint(settings.model, None)
    model = load_served_model(checkpoint, served_names=(), strict_reference=False, max_tokens=settings.max_tokens)
    rules = media_rules(settings, model, own_uuids(), model.fingerprint)
    return InputReader(model=model, rules=rules, long_texts=long_texts)


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


@pytest.mark.parametrize(
    ("asked", "of_refuse", "of_end"),
    [
        ({}, None, "right"),
        ({"truncation_side": "left"}, None, "left"),
        ({"truncate": "NONE"}, None, None),
        ({"truncation": False}, None, None),
        ({"truncation": True}, "right", "right"),
        ({"truncate": "START"}, "left", "left"),
        ({"truncate_prompt_tokens": -1}, "right", "right"),
    ],
)
def test_what_is_done_with_long_texts_unless_a_request_says(
    asked: dict[str, Any], of_refuse: str | None, of_end: str | None
) -> None:
    request = EmbeddingRequest(input="a pool", **asked)
    assert embedding_truncation(request, 256, "refuse").side == of_refuse
    assert embedding_truncation(request, 256, "end").side == of_end
    assert embedding_truncation(EmbeddingRequest(input="a", truncate_prompt_tokens=9), 256, "end").max_tokens == 9


def test_an_image_is_never_cut_to_fit() -> None:
    """A text of the same item is; what an image needs by itself is refused, with what helps."""
    reader = input_reader(long_texts="end", max_tokens=60)
    image, words = ImageUrlPart(image_url=image_uri(3, 256, 256)), TextPart(text="lorem ipsum " * 50)
    small = ImageUrlPart(image_url=image_uri(3, 64, 64))
    for part, is_refused in ((image, True), (small, False)):
        request = EmbeddingRequest(inputs=[Content(content=[part, words])])
        job = reader.embedding_job(request, (DenseAsk(dimensions=reader.model.profile.dimensions),), SERVICE.tenant)
        if is_refused:
            with pytest.raises(InputError, match="send fewer or smaller images"):
                prompts_of(reader, job)
        else:
            (prompt,) = prompts_of(reader, job)
            assert isinstance(prompt, Prompt)
            assert (prompt.truncated, len(prompt.plan.ids), prompt.placeholders[0].length) == (True, 60, 4)
