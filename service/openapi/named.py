"""The unions, enums, arrays and maps of the wire types that get a name of their own in the document.

msgspec writes them inline wherever they are used, and client generators then invent names such as `Type2`.
`components` replaces the copies by references to the names.
"""

from dataclasses import dataclass
from typing import Any, Literal

from schemas.content.audio import AudioFormat, AudioSource
from schemas.content.messages import Conversation, MessageOrConversation, Role
from schemas.content.parts import PARTS_ORDER, Content, ContentPart, ContentParts, GridThw, ImageSource
from schemas.content.scored import RerankInput, ScoreInput
from schemas.content.video import VideoSource
from schemas.dialects.elastic import ElasticContent, ElasticFormat, ElasticInput, ElasticItem, ElasticType
from schemas.dialects.items import MediaInput, MediaItem
from schemas.dialects.nim_rerank import NimTruncate
from schemas.dialects.openrouter import ContentInput
from schemas.dialects.vllm import OtherOptions, VllmInput
from schemas.endpoints.embed_v1 import EmbedV1Response
from schemas.endpoints.embed_vectors import EmbeddingType, TokenWeights
from schemas.endpoints.embeddings import Embedding, EmbeddingInput, EncodingFormat
from schemas.endpoints.health import HealthStatus
from schemas.endpoints.image_embeds import FeaturesFormat
from schemas.endpoints.models import CohereEndpoint, InputTypes, LongTexts, Modality, Pooling, ScoreKind
from schemas.endpoints.ollama import KeepAlive
from schemas.endpoints.pooling import PoolingTask
from schemas.endpoints.rerank import AnyRerankResponse, CutDirection
from schemas.endpoints.stream import StreamAnswer
from schemas.endpoints.tei import TeiInputs, TeiSparseVectors, TeiVectors
from schemas.errors import ErrorCode, ErrorType
from schemas.fields import EmbedDtype, Endianness, OnError, PartOrder, Truncate, TruncationSide
from schemas.limits import MAX_GRID_NUMBERS, MAX_INPUTS, MAX_INT32, MAX_PARTS_PER_INPUT


@dataclass(frozen=True, slots=True)
class Named:
    """A type of the wire with a component of its own."""

    name: str
    type: Any
    """The type as the wire structs use it."""
    description: str
    branches: tuple[dict[str, Any], ...] = ()
    """The branches of a `oneOf` that msgspec cannot express, or the one schema; empty when its own are right."""
    array_only: bool = False
    """List only the array branch of a union of a string and an array (the server accepts both), by the name of the
    array's component, or by the one of `branches` in place: generators name variables after a component, once."""
    sdk_branch: str = ""
    """The one branch that the SDK profile keeps of a union, by its title or component; empty keeps the union."""
    sdk_description: str = ""
    """Description in the SDK profile, if it keeps one branch that has no component of its own."""
    sdk_enum_names: tuple[str, ...] = ()
    """Names of the values in generated code, if a value is a keyword of a language (Ruby's `END`)."""
    is_any_of: bool = False
    """True for an `anyOf`: typescript-fetch imports a type twice that two branches of a `oneOf` name."""
    in_sdk: bool = True
    """False if the SDK profile leaves out the type and all properties of the type."""


_TEXTS = {"title": "Texts", "type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_INPUTS}
_GRID = {"type": "integer", "format": "int32", "minimum": 1, "maximum": MAX_INT32}
_GRIDS = {"title": "GridThw", "type": "array", "items": _GRID, "minItems": 3, "maxItems": MAX_GRID_NUMBERS}
_RANKS = {"title": "TextRanks", "type": "array", "items": {"$ref": "#/components/schemas/TextRank"}, "minItems": 1}
_ITEM = {"$ref": "#/components/schemas/RerankInput"}
_ITEMS = {"type": "array", "items": _ITEM, "minItems": 1, "maxItems": MAX_INPUTS}
_NUMBERS = {"title": "Numbers", "type": "array", "items": {"type": "number", "format": "float"}, "minItems": 1}


def _url_source(kind: str, source: object, whose: str) -> Named:
    return Named(
        f"{kind}Source",
        source,
        f"{whose} source: an object with `url`, or the URL itself.",
        ({"$ref": f"#/components/schemas/{kind}Url"}, {"title": "Url", "type": "string"}),
        sdk_branch=f"{kind}Url",
    )


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list_of(name: str, union: object, item: str, most: int = MAX_INPUTS) -> Named:
    """A field of another server's form that the document lists as an array of components."""
    array = {"type": "array", "items": _ref(item), "minItems": 1, "maxItems": most}
    return Named(name, union, "", (array,), array_only=True)


_TEXT = {"title": "Text", "type": "string"}

NAMED = (
    Named("Role", Role, "The speaker of a message."),
    Named("EncodingFormat", EncodingFormat, "Encoding of a vector.", in_sdk=False),
    Named("EmbedDtype", EmbedDtype, "Number format of components."),
    Named("Endianness", Endianness, "Byte order of components.", in_sdk=False),
    Named("OnError", OnError, "Effect of a bad item."),
    Named("PartOrder", PartOrder, "The order in which a model reads the parts of an item."),
    Named("FeaturesFormat", FeaturesFormat, "File format of features."),
    Named("LongTexts", LongTexts, "What happens to a text over the limit where a request does not say."),
    Named("TruncationSide", TruncationSide, "The end of a text that is cut off if it is too long."),
    Named("CohereEmbeddingType", EmbeddingType, "A number format of vectors."),
    Named(
        "CohereTruncate",
        Truncate,
        "What happens to a text that is too long.",
        sdk_enum_names=("NONE", "CUT_START", "CUT_END"),
    ),
    Named(
        "Pooling",
        Pooling,
        "Pooling of the hidden states of all tokens into one vector; `multi_vector`: each token has its own; `splade`: "
        "a sparse vector.",
    ),
    Named("Modality", Modality, "Kind of content that an item may hold."),
    Named("HealthStatus", HealthStatus, "Whether requests are answered, or why they are not."),
    Named("ErrorCode", ErrorCode, "The stable name of an error. Names are added, never changed."),
    Named("ErrorType", ErrorType, "OpenAI's coarse grouping of errors."),
    Named("ListObject", Literal["list"], "Marks a list, as in OpenAI's API."),
    Named("EmbeddingObject", Literal["embedding"], "Marks a vector, as in OpenAI's API."),
    Named("ImageFeaturesObject", Literal["image_features"], "Marks the features of an image."),
    Named("TokensObject", Literal["tokens"], "Marks the tokens of one input."),
    Named("ModelObject", Literal["model"], "Marks a model, as in OpenAI's API."),
    Named("CohereResponseType", Literal["embeddings_by_type"], "Marks an answer by number format."),
    Named("CohereEndpoint", CohereEndpoint, "An endpoint of Cohere's API that a model serves."),
    Named("ScoreKind", ScoreKind, "What a model's scores are."),
    Named("ScoreObject", Literal["score"], "Marks a score, as in vLLM's API."),
    Named(
        "CutDirection",
        CutDirection,
        "The end of a text that is cut off. `Left` and `Right` are accepted too; this document lists one spelling, "
        "since generators make a constant of each.",
        ({"enum": ["left", "right"], "type": "string", "examples": ["right"]},),
        in_sdk=False,
    ),
    Named("InputTypes", InputTypes, "Instruction by name."),
    Named("TokenWeights", TokenWeights, "Weights of vocabulary entries by their text."),
    Named(
        "CohereEmbedV1Response",
        EmbedV1Response,
        "The vectors, as a bare list or by number format; `response_type` says which.",
    ),
    _url_source("Image", ImageSource, "An image's"),
    _url_source("Video", VideoSource, "A video's"),
    _url_source("Audio", AudioSource, "An audio file's"),
    Named("AudioFormat", AudioFormat, "Format of an audio file."),
    Named(
        "GridThw",
        GridThw,
        "Size of an image in patches: temporal, height, width; of several images, in sequence.",
        (_GRIDS,),
    ),
    Named("ContentPart", ContentPart, "One part; `type` says which."),
    Named("ContentParts", ContentParts, f"The parts of one item. {PARTS_ORDER}"),
    Named("ContentParts", str | ContentParts, "", array_only=True),
    Named("Conversation", Conversation, "The messages of one conversation, in order."),
    Named(
        "MessageOrConversation",
        MessageOrConversation,
        "An entry of `messages`. All entries are messages of one conversation, or each is a conversation.",
        sdk_branch="Message",
        is_any_of=True,
    ),
    Named(
        "EmbeddingInput",
        EmbeddingInput,
        "A text, or a list of texts.",
        ({"title": "Text", "type": "string"}, _TEXTS),
        sdk_branch="Texts",
        sdk_description="A list of texts.",
    ),
    Named(
        "Embedding",
        Embedding,
        "A vector: numbers, or the base64 of its components; null only where an item failed.",
        (_NUMBERS, {"title": "Base64", "type": "string"}, {"title": "Failed", "type": "null"}),
        sdk_branch="Numbers",
        sdk_description="A vector, as numbers.",
    ),
    Named(
        "RerankInput",
        RerankInput,
        "A query or a document: a text, or an object with text, images or both.",
        ({"title": "Text", "type": "string"}, {"$ref": "#/components/schemas/RerankItem"}),
        sdk_branch="RerankItem",
    ),
    Named("ScoreInput", ScoreInput, "", (_ITEMS,), array_only=True),
    Named(
        "AnyRerankResponse",
        AnyRerankResponse,
        "The documents in falling order of their relevance; a list where the request has `texts`.",
        ({"$ref": "#/components/schemas/RerankResponse"}, _RANKS),
        sdk_branch="RerankResponse",
    ),
    Named(
        "TeiInputs",
        TeiInputs,
        "A text, or texts.",
        ({"title": "Text", "type": "string"}, _TEXTS),
        sdk_branch="Texts",
        sdk_description="Texts.",
    ),
    Named(
        "MediaEntry",
        str | MediaItem,
        "An item: a text, or an object.",
        (_TEXT, _ref("MediaItem")),
        sdk_branch="MediaItem",
    ),
    _list_of("MediaInput", MediaInput, "MediaEntry"),
    Named("ContentEntry", str | Content, "An item: a text, or its parts.", (_TEXT, _ref("InputItem"))),
    _list_of("ContentInput", ContentInput, "ContentEntry"),
    Named("ElasticType", ElasticType, "Kind of a value."),
    Named("ElasticFormat", ElasticFormat, "How a value is written."),
    _list_of("ElasticContent", ElasticContent, "ElasticValue", MAX_PARTS_PER_INPUT),
    Named("ElasticEntry", str | ElasticItem, "An item: a text, or its values.", (_TEXT, _ref("ElasticItem"))),
    _list_of("ElasticInput", ElasticInput, "ElasticEntry"),
    _list_of("VllmInput", VllmInput, "MessageOrConversation"),
    Named("OtherOptions", OtherOptions, "Options of another server, by name."),
    Named("NimTruncate", NimTruncate, "Treatment of a pair that is too long.", in_sdk=False),
    Named(
        "KeepAlive",
        KeepAlive,
        "How long a model stays loaded.",
        (_TEXT, {"title": "Seconds", "type": "number", "format": "float"}),
        in_sdk=False,
    ),
    Named("PoolingTask", PoolingTask, "What is wanted of each input.", in_sdk=False),
    Named("PoolingObject", Literal["pooling"], "Marks vectors, as in vLLM's API."),
    Named("TeiVectors", TeiVectors, "Vectors, in the order of the request."),
    Named("TeiSparseVectors", TeiSparseVectors, "Sparse vectors, in the order of the request."),
    Named("StreamAnswer", StreamAnswer, "A line of a stream's answer; `type` says which."),
)
"""Leaves first: a later entry may hold copies of an earlier one."""
