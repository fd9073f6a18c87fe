"""All kinds of output, found by listing this folder, and what a model's are asked for."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Union, get_args

import service.outputs
from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embed_vectors import EmbeddingType
from service.errors import InputError
from service.outputs.ask import Asks, Offer, OutputAsk, Wanted
from service.outputs.tokens import check_pooling

Need = Literal["dense", "sparse", "vectors"]
"""Need of a route: one kind of output, or any that is no score."""


def _below(kind: type[OutputAsk]) -> Iterator[type[OutputAsk]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


for _module in pkgutil.iter_modules(service.outputs.__path__, "service.outputs."):
    importlib.import_module(_module.name)

KINDS: Mapping[str, type[OutputAsk]] = {kind.output: kind for kind in _below(OutputAsk) if kind.output}
"""Those that models give, by name."""

if TYPE_CHECKING:
    SentAsks = Asks
else:
    SentAsks = tuple[Union[tuple(kind for kind in _below(OutputAsk) if kind.__struct_config__.tag)], ...]  # noqa: UP007
"""Asks as `msgspec` reads them from the socket: it tells them apart by their tags."""


def find_heads(folder: Path) -> dict[str, Path]:
    """The files of heads beside a dense one's that are there, by the name of the output.

    Source: FlagEmbedding `M3Embedder`, which saves them as `.pt`; a `.safetensors` twin is taken first.
    """
    found = {}
    for kind in sorted(KINDS.values(), key=lambda kind: kind.kind):
        places = (folder / f"{kind.head_file}{end}" for end in (".safetensors", ".pt") if kind.head_file)
        if path := next(filter(Path.is_file, places), None):
            found[kind.output] = path
    return found


def fits(offer: Offer, need: Need) -> bool:
    """True if a model gives what a route needs."""
    return not offer.is_reranker if need == "vectors" else need in offer.kinds


def check_fits(offer: Offer, need: Need, route: str) -> None:
    """Refuse a model that does not give what a route needs.

    Raises:
        InputError: it does not.
    """
    if need in offer.kinds:
        return
    if need == "vectors" and not offer.is_reranker:
        return
    lacking = "" if need == "vectors" or offer.is_reranker else KINDS[need].lacking(offer, route)
    message = f"`model`: {offer.name} {lacking or KINDS[offer.kinds[0]].instead(offer, route)}"
    raise InputError("invalid_request", message, param="model")


def kind_of(type_: EmbeddingType) -> type[OutputAsk]:
    """The kind of output that a type of `/v2/embed` is of."""
    return next(kind for kind in KINDS.values() if type_ in kind.types)


def embedding_types(asked: Sequence[EmbeddingType], offer: Offer) -> list[EmbeddingType]:
    """The types to answer in, each once; without any, the default of the model's own kind.

    Raises:
        InputError: the model gives no output of a type that was asked for.
    """
    types: list[EmbeddingType] = list(asked or KINDS[offer.kinds[0]].types[:1])
    for index, type_ in enumerate(types):
        if kind_of(type_).output not in offer.kinds:
            offered = ", ".join(one for one in get_args(EmbeddingType) if kind_of(one).output in offer.kinds)
            param, gives = f"embedding_types[{index}]", " and ".join(KINDS[one].words for one in offer.kinds)
            message = f"`{param}`: got {type_}; {offer.name} gives {gives} of an input, as any of {offered}"
            raise InputError("invalid_request", message, param=param)
    return list(dict.fromkeys(types))


def asks_of(
    body: EmbedRequest, types: Sequence[EmbeddingType], dimensions: int, instruction: str, offer: Offer
) -> Asks:
    """An ask for each kind of output that the types of a request of `/v2/embed` are of.

    Args:
        instruction: that its `input_type` stands for.

    Raises:
        InputError: bits of these dimensions fill no bytes, or there is nothing to pool.
    """
    if dimensions % 8 and any(type_.endswith("binary") for type_ in types):
        message = "binary and ubinary pack 8 dimensions a byte: send a multiple of 8"
        message = f"`output_dimension`: got {dimensions}; {message}"
        raise InputError("invalid_dimensions", message, param="output_dimension")
    if body.pool_factor is not None:
        check_pooling(body.pool_factor, instruction, offer)
    factor, kinds = body.pool_factor or 1.0, dict.fromkeys(map(kind_of, types))
    return tuple(
        kind.of(Wanted([one for one in types if one in kind.types], dimensions, offer.normalize, factor), offer)
        for kind in kinds
    )
