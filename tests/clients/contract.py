"""What every client of vectors is asked: a folder's `Test...` class says how its client is made and called.

Its bases say what the client can do; pytest collects their tests with it.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from tests.clients.client_page import page_client
from tests.clients.plain import QUERY, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.relay import Relay


class AsksForVectors(ABC):
    """A client that embeds texts.

    Attributes:
        package: its row in docs/clients.md.
        names: what the line of that row may use.
        field: of its requests, with the texts.
        sends: further fields that its requests have.
        num_busy: how often it waits for a full queue.
    """

    package: ClassVar[str]
    names: ClassVar[Mapping[str, Any]]
    field: ClassVar[str] = "input"
    sends: ClassVar[Mapping[str, Any]] = {}
    num_busy: ClassVar[int] = 2

    @abstractmethod
    def made(self, url: str, **more: Any) -> Any:
        """The client, with further settings."""

    @abstractmethod
    def vectors(self, client: Any, texts: list[str]) -> Any:
        """Vectors of texts, in order."""

    def test_the_pages_line_is_enough(self, plain: Plain) -> None:
        client = page_client(self.package, plain.url, **self.names)
        assert_same(self.vectors(client, TEXTS), plain.vectors({"input": TEXTS}))

    def test_texts_keep_their_order_and_an_empty_one_its_place(self, relay: Relay, plain: Plain) -> None:
        assert_same(self.vectors(self.made(relay.url), TEXTS), plain.vectors({"input": TEXTS}))
        (sent,) = relay.sent
        assert sent.body[self.field] == TEXTS
        assert {name: sent.body.get(name) for name in self.sends} == self.sends

    def test_a_full_queue_is_waited_for(self, relay: Relay, plain: Plain) -> None:
        relay.num_busy = self.num_busy
        assert_same(self.vectors(self.made(relay.url), ["a red circle"]), plain.vectors({"input": "a red circle"}))
        assert len(relay.sent) == self.num_busy + 1


class SplitsTexts(AsksForVectors):
    """A client that sends many texts in several requests.

    Attributes:
        batches: how many each of its requests holds.
    """

    batches: ClassVar[Sequence[int]]

    def test_many_texts_are_split_and_come_back_in_order(self, relay: Relay, plain: Plain) -> None:
        texts = numbered_texts(sum(self.batches))
        assert_same(self.vectors(self.made(relay.url), texts), plain.vectors({"input": texts}))
        assert sorted(map(len, relay.inputs(self.field))) == sorted(self.batches)


class ShortensVectors(AsksForVectors):
    """A client that can ask for fewer dimensions.

    Attributes:
        refusal: what it raises where there are not so many.
        refused: further settings with which it raises.
    """

    refusal: ClassVar[type[Exception]]
    refused: ClassVar[Mapping[str, Any]] = {}

    def test_dimensions_shorten_the_vector(self, plain: Plain) -> None:
        got = self.vectors(self.made(plain.url, dimensions=64), TEXTS)
        assert_same(got, plain.vectors({"input": TEXTS, "dimensions": 64}))

    def test_a_refusal_is_of_its_own_class_with_our_words_and_is_not_repeated(self, relay: Relay, plain: Plain) -> None:
        with pytest.raises(self.refusal) as caught:
            self.vectors(self.made(relay.url, dimensions=4096, **self.refused), TEXTS)
        assert plain.message("/v1/embeddings", {"input": TEXTS, "dimensions": 4096}) in str(caught.value)
        assert len(relay.sent) == 1


class Instructs(AsksForVectors):
    """A client whose queries have the model's instruction."""

    @abstractmethod
    def query(self, client: Any, text: str) -> Any:
        """The vector of a query."""

    def test_a_query_gets_its_instruction(self, plain: Plain) -> None:
        want = plain.vectors({"input": "a red circle", "instruction": QUERY})
        assert_same([self.query(self.made(plain.url), "a red circle")], want)


class AsksAtOnce(AsksForVectors):
    """A client with an asynchronous way."""

    @abstractmethod
    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        """Vectors of texts by that way, in order."""

    def test_the_async_way_gets_the_same(self, plain: Plain) -> None:
        texts = numbered_texts(120)
        assert_same(asyncio.run(self.vectors_at_once(plain.url, texts)), plain.vectors({"input": texts}))
