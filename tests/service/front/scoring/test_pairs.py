"""A reranker's prompts: each document beside its query, which is read once where all documents share it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from schemas.content.parts import ImageUrlPart, TextPart
from schemas.content.scored import RerankItem
from service.checkpoint.hub import find_checkpoint
from service.errors import ServiceError
from service.front.inputs.pairs import with_short_texts
from service.front.inputs.reader import InputReader
from service.front.scoring.comparison import Comparison, Side, score_job
from service.front.served_model import ServedModel, load_served_model
from service.front.serving.from_settings import media_rules
from service.front.tenant import SERVICE
from service.outputs.score import ScoreAsk
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import Piece
from service.prompt.prompt import Prompt
from service.settings.settings import Settings
from tests.builders import own_uuids, prompts_of
from tests.conftest import CHECKPOINT, image

PICTURE = RerankItem(content=[ImageUrlPart(image_url=image(1)), TextPart(text="a door")])
UNREADABLE = RerankItem(image="data:image/png;base64,bm8=")


class PairReader:
    """The prompts of the oracle's model as if it were a reranker, and the conversations that they were made of."""

    def __init__(self) -> None:
        settings = Settings(model=str(CHECKPOINT))
        plain = load_served_model(
            find_checkpoint(settings.model, None), served_names=(), strict_reference=False, max_tokens=0
        )
        self.seen: list[Conversation] = []

        def layout(conversation: Conversation) -> Sequence[Piece]:
            self.seen.append(conversation)
            images = tuple(one for turn in conversation.turns for one in turn.images)
            text = "|".join(turn.text for turn in conversation.turns)
            return plain.profile.layout(Conversation(conversation.instruction, (Turn("user", (*images, text)),)))

        profile = replace(
            plain.profile, layout=layout, outputs=("score",), activation="sigmoid", dimensions=1, normalize=False
        )
        builder = PromptBuilder(profile, plain.tokenizer)
        self.model: ServedModel = replace(plain, profile=profile, builder=builder)
        self._reader = InputReader(
            model=self.model, rules=media_rules(settings, self.model, own_uuids(), self.model.fingerprint)
        )

    def read(self, queries: Any, documents: Any, **how: Any) -> list[Prompt | ServiceError]:
        asked = Comparison(queries=Side("queries", queries), documents=Side("documents", documents), **how)
        job = score_job(self.model, asked, SERVICE.tenant)
        assert job.asks == (ScoreAsk(),)
        self.seen.clear()
        return prompts_of(self._reader, job)


@pytest.fixture(scope="module")
def reader() -> PairReader:
    return PairReader()


def texts(reader: PairReader) -> list[tuple[str, str]]:
    """The query and the document of each pair."""
    for conversation in reader.seen:
        assert [turn.role for turn in conversation.turns] == ["query", "document"]
    return [(query.text, document.text) for query, document in (one.turns for one in reader.seen)]


def test_one_query_stands_beside_each_document_and_as_many_as_documents_are_pairs(reader: PairReader) -> None:
    reader.read("a", ["b", RerankItem(text="c"), ""], instruction="Find it.")
    assert texts(reader) == [("a", "b"), ("a", "c"), ("a", "")]
    assert {one.instruction for one in reader.seen} == {"Find it."}
    reader.read(["a", "b"], ["c", "d"])
    assert texts(reader) == [("a", "c"), ("b", "d")]


def test_the_picture_of_a_query_is_opened_once(reader: PairReader) -> None:
    prompts = reader.read(PICTURE, [PICTURE, "b"])
    first, second = (one.turns[0].images[0] for one in reader.seen)
    assert first is second
    assert [len(one.placeholders) for one in prompts if isinstance(one, Prompt)] == [2, 1]


def test_the_texts_of_each_side_have_a_limit_of_their_own(reader: PairReader) -> None:
    asked = Comparison(queries=Side("query", "a b c d e f", 2), documents=Side("documents", ["a b c d e f"], 4))
    reader.seen.clear()
    prompts_of(reader._reader, score_job(reader.model, asked, SERVICE.tenant))
    assert texts(reader) == [("a b", "a b c d")]


def test_texts_around_an_image_share_a_limit(reader: PairReader) -> None:
    picture: Any = object()
    turn = Turn("document", ("a b", picture, " c d", picture, " e"))
    short = with_short_texts(Conversation(None, (turn,)), 3, reader.model.tokenizer)
    assert short.turns[0].parts == ("a b", picture, " c", picture, "")


def test_a_document_that_cannot_be_read_fails_by_itself_and_a_query_its_pair_or_all(reader: PairReader) -> None:
    for queries, documents, param in (
        ("a", ["b", UNREADABLE], "documents[1].image"),
        (["a", UNREADABLE], ["b", "c"], "queries[1].image"),
    ):
        good, bad = reader.read(queries, documents, per_item=True)
        assert isinstance(good, Prompt)
        assert isinstance(bad, ServiceError)
        assert (bad.param, bad.index) == (param, 1)
    with pytest.raises(ServiceError) as raised:
        reader.read(UNREADABLE, ["b", "c"], per_item=True)
    assert raised.value.param == "queries.image"
