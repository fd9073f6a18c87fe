"""Parts of a request as turns."""

from types import SimpleNamespace
from typing import cast

from schemas.content.parts import Content, ImageUrlPart, TextPart
from schemas.endpoints.embed import EmbedRequest
from service.front.inputs.conversations import read_conversation
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.sources import embed_inputs
from service.front.job import PromptOptions
from service.prompt.conversation import Conversation, Turn
from tests.builders import image_file, noise


def test_within_a_turn_images_come_first_and_texts_join_with_nothing_between() -> None:
    images = {name: image_file(noise(64, 64, seed)) for seed, name in enumerate(("one", "two"))}
    reader = SimpleNamespace(read=lambda place: [images[place.part.image_url]])
    first, second = (ImageUrlPart(image_url=name) for name in images)
    parts = [TextPart(text="Com"), first, TextPart(text="pare"), second, TextPart(text="")]
    request = EmbedRequest(inputs=[Content(content=parts)])
    (one,) = embed_inputs(request, PromptOptions(Conversation("Find it")))
    assert [place.param for place in one.media] == ["inputs[0].content[1]", "inputs[0].content[3]"]
    conversation = read_conversation(one, cast(MediaReader, reader), 0)
    assert conversation.turns == (Turn("user", (*images.values(), "Compare")),)
    assert conversation.instruction == "Find it"
