"""Asks of the model, one for each output, each kind a subclass in a file of its own; and what a model offers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import msgspec
import numpy as np

from schemas.endpoints.embed_vectors import EmbeddingType
from schemas.endpoints.models import ScoreKind
from service.checkpoint.reranker_files import Activation
from service.fairness import Steps
from service.outputs.block import Row, Rows
from service.outputs.plan import TokenPlan
from service.outputs.printing import DeferredValue

Needs = Literal["nothing", "pooled", "all"]
"""Part of a forward that an output is made of: one state of a prompt, those of all tokens, or nothing."""

Compare = tuple[Callable[[Row], Any], Callable[[Any, Any], Steps[float]]]
"""Functions that read a row, and that compare what a query and a document have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The outputs of one model.

    Attributes:
        name: of the model, for errors.
        kinds: that it gives, its own first.
        dimensions: of a vector.
        pooling: in the word of the checkpoint's files.
        activation: of a reranker's logits.
        num_entries: that a sparse vector could have.
        token_of: the vocabulary's entry of an id.
        query_side: the instruction that makes a text a query, where queries and documents are read apart; else empty.
        looks_queries_up: a query's vector is weights of a table, and only documents go through the model.
        gives_chunks: chunks of a text may each have a vector of one forward.
        feature_width: numbers of one visual token's features; 0 of a model that takes no images.
    """

    name: str
    kinds: tuple[str, ...]
    dimensions: int
    normalize: bool
    pooling: str
    similarity: str
    activation: Activation
    num_entries: int
    token_of: Callable[[int], str | None]
    query_side: str
    looks_queries_up: bool
    gives_chunks: bool
    feature_width: int

    @property
    def is_reranker(self) -> bool:
        """True if it gives scores, and no vectors."""
        return self.kinds == ("score",)


class Wanted(NamedTuple):
    """What a request says of its vectors.

    Attributes:
        types: of `/v2/embed`.
        dimensions: of each vector.
        pool_factor: by which token vectors become fewer.
    """

    types: Sequence[EmbeddingType]
    dimensions: int
    normalize: bool
    pool_factor: float = 1.0


class OutputAsk(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One output of a forward. The road carries it as it is.

    Attributes:
        kind: the name of the model's head that answers it.
        output: its name in profiles and `/v1/models`; empty where no model is asked for it by name.
        words: what a model gives of an input, for errors.
        types: of `/v2/embed` that it answers; the first is the default of a model that gives it first.
        head_file: the file beside the weights, but for its ending, of a head that gives it beside a dense vector.
        needs: what it is made of.
        is_uniform: the inputs of a job have a prompt and a row of known length each.
        follows_tokens: its bytes follow from the tokens of all prompts; see `bytes_of`.
        joins_inputs: a prompt holds several inputs, each of which has a part of its rows.
        is_measured: the length of a row is known when it is there; see `check_measured`.
        is_kept: a row may be kept for later requests.
        is_unit: two answers to the same are compared by their cosine, not by their difference.
        is_picky: prompts have to pass `check_prompt`.
    """

    kind: ClassVar[str] = ""
    output: ClassVar[str] = ""
    words: ClassVar[str] = ""
    types: ClassVar[Sequence[EmbeddingType]] = ()
    head_file: ClassVar[str] = ""
    needs: ClassVar[Needs] = "pooled"
    is_uniform: ClassVar[bool] = True
    follows_tokens: ClassVar[bool] = False
    joins_inputs: ClassVar[bool] = False
    is_measured: ClassVar[bool] = False
    is_kept: ClassVar[bool] = True
    is_unit: ClassVar[bool] = True
    is_picky: ClassVar[bool] = False

    @classmethod
    def of(cls, wanted: Wanted, offer: Offer) -> Self:
        """Return the ask for types of this kind."""
        raise NotImplementedError

    @property
    def bytes_each(self) -> int:
        """Of each input, as far as that is known before the model has run."""
        return 0

    def bytes_of(self, num_tokens: int, param: str, most: int) -> int:
        """Bytes that follow from the tokens of all prompts, known before a pixel is decoded.

        Args:
            param: of the inputs.
            most: bytes of one answer.

        Raises:
            ServiceError: they are too many for one answer.
        """
        raise NotImplementedError

    def check_measured(self, num_bytes: int, param: str, most: int) -> None:
        """Pass an answer of so many bytes, all of its outputs together.

        Raises:
            InputError: they are too many.
        """

    def are_whole(self, rows: Rows, num_vectors: int) -> bool:
        """True if what is asked for is there, with the bytes of so many vectors."""
        raise NotImplementedError

    def check_prompt(self, plan: TokenPlan, has_media: bool, offer: Offer, param: str, index: int) -> None:
        """Pass a prompt that it can be made of.

        Raises:
            InputError: it cannot.
        """

    @classmethod
    def instead(cls, offer: Offer, route: str) -> str:
        """Why a model that gives it first is not for a route with one dense vector for each input, and what is."""
        raise NotImplementedError

    @classmethod
    def lacking(cls, offer: Offer, route: str) -> str:
        """Why a route that needs it cannot take an embedder without; empty where that is said by `instead`."""
        return ""

    @classmethod
    def json(cls, rows: Rows, type_: EmbeddingType, dimensions: int, offer: Offer) -> DeferredValue:
        """An input's value of a type of `/v2/embed`; an empty list, or object, of a failed one, which has no rows."""
        raise NotImplementedError

    @classmethod
    def numbers(cls, row: Row, dimensions: int) -> Any:
        """A float32 row as `[num_vectors, dimensions]`."""
        return np.frombuffer(row, "<f4").reshape(-1, dimensions)

    @classmethod
    def score_kind(cls, offer: Offer) -> ScoreKind:
        """Kind of its score, in the word of `/v1/models`."""
        raise NotImplementedError

    @classmethod
    def compare(cls, offer: Offer) -> Compare:
        """Return the comparison of a query with a document."""
        raise NotImplementedError


Asks = tuple[OutputAsk, ...]
"""The outputs of one forward, of each kind at most one."""


def needs(asks: Asks) -> Needs:
    """Part of a forward that outputs are made of."""
    return "all" if any(ask.needs == "all" for ask in asks) else asks[0].needs
