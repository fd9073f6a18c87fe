"""The outputs that a model gives: all that the kinds of output read of it."""

from collections.abc import Callable
from dataclasses import dataclass

from service.checkpoint.reranker_files import Activation


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The outputs of one model.

    Attributes:
        name: of the model, for errors.
        kinds: that it gives, its own first.
        dimensions: of a vector.
        normalize: vectors are brought to length 1.
        pooling: in the word of the checkpoint's files.
        similarity: by which its vectors are compared.
        activation: of a reranker's logits; None of all others.
        num_entries: that a sparse vector could have.
        token_of: the vocabulary's entry of an id.
        query_side: the instruction that makes a text a query, where queries and documents are read apart; else empty.
        has_static_queries: a query's vector is weights of a table, and only documents go through the model.
        gives_chunks: chunks of a text may each have a vector of one forward.
    """

    name: str
    kinds: tuple[str, ...]
    dimensions: int
    normalize: bool
    pooling: str
    similarity: str
    activation: Activation | None
    num_entries: int
    token_of: Callable[[int], str | None]
    query_side: str
    has_static_queries: bool
    gives_chunks: bool
