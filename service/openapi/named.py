"""The unions, enums, arrays and maps of the wire that get a name of their own in the document.

msgspec writes them inline wherever they are used, and client generators then invent names such as `Type2`. Knows which
types deserve a name and what is said of them; how a name replaces its copies is in `components`.
"""

from dataclasses import dataclass
from typing import Any, Literal

from schemas.audio import AudioFormat, AudioSource
from schemas.content import ContentPart, ContentParts, GridThw, ImageSource
from schemas.embed_v1 import EmbedV1Response
from schemas.embed_vectors import EmbeddingType
from schemas.embeddings import (
    Embedding,
    EmbeddingInput,
    EmbedDtype,
    EncodingFormat,
    Endianness,
    OnError,
    Truncate,
    TruncationSide,
)
from schemas.errors import ErrorCode, ErrorType
from schemas.health import HealthStatus
from schemas.image_embeds import FeaturesFormat
from schemas.limits import MAX_GRID_NUMBERS, MAX_INPUTS, MAX_INT32
from schemas.messages import Conversation, MessageOrConversation, Role
from schemas.models import CohereEndpoint, InputTypes, Modality, Pooling
from schemas.stream import StreamAnswer
from schemas.video import VideoSource


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
    """List only the array branch of a union of a string and an array (the server accepts both)."""
    sdk_branch: str = ""
    """The one branch that the SDK profile keeps of a union, by its title or component; empty keeps the union."""
    sdk_description: str = ""
    """What is said of the type in the SDK profile, when it keeps one branch that has no component of its own."""
    sdk_enum_names: tuple[str, ...] = ()
    """What generators call the values in code, where a value is a keyword of a language (Ruby's `END`)."""
    is_any_of: bool = False
    """Whether the union is an `anyOf`: typescript-fetch imports a type twice that two branches of a `oneOf` name."""
    in_sdk: bool = True
    """Whether the SDK profile has the type; without it no property of the type is there either."""


_TEXTS = {"title": "Texts", "type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_INPUTS}
_GRID = {"type": "integer", "format": "int32", "minimum": 1, "maximum": MAX_INT32}
_GRIDS = {"title": "GridThw", "type": "array", "items": _GRID, "minItems": 3, "maxItems": MAX_GRID_NUMBERS}
_NUMBERS = {"title": "Numbers", "type": "array", "items": {"type": "number", "format": "float"}, "minItems": 1}

NAMED = (
    Named("Role", Role, "Who speaks."),
    Named("EncodingFormat", EncodingFormat, "How a vector is written.", in_sdk=False),
    Named("EmbedDtype", EmbedDtype, "Number format of components."),
    Named("Endianness", Endianness, "Byte order of components.", in_sdk=False),
    Named("OnError", OnError, "What a bad item does."),
    Named("FeaturesFormat", FeaturesFormat, "File format of features."),
    Named("TruncationSide", TruncationSide, "Which end of a text that is too long is cut off."),
    Named("CohereEmbeddingType", EmbeddingType, "A number format of vectors."),
    Named(
        "CohereTruncate",
        Truncate,
        "What happens to a text that is too long.",
        sdk_enum_names=("NONE", "CUT_START", "CUT_END"),
    ),
    Named("Pooling", Pooling, "How the states of all tokens become one vector; `multi_vector`: each has its own."),
    Named("Modality", Modality, "What an item may hold."),
    Named("HealthStatus", HealthStatus, "Whether requests are answered, or why they are not."),
    Named("ErrorCode", ErrorCode, "The stable name of an error. Names are added, never changed."),
    Named("ErrorType", ErrorType, "OpenAI's coarse grouping of errors."),
    Named("ListObject", Literal["list"], "Marks a list, as in OpenAI's API."),
    Named("EmbeddingObject", Literal["embedding"], "Marks a vector, as in OpenAI's API."),
    Named("ImageFeaturesObject", Literal["image_features"], "Marks the features of a picture."),
    Named("TokensObject", Literal["tokens"], "Marks the tokens of one input."),
    Named("ModelObject", Literal["model"], "Marks a model, as in OpenAI's API."),
    Named("CohereResponseType", Literal["embeddings_by_type"], "Marks an answer by number format."),
    Named("CohereEndpoint", CohereEndpoint, "What Cohere's client may ask of a model."),
    Named("InputTypes", InputTypes, "Instruction by name."),
    Named(
        "CohereEmbedV1Response",
        EmbedV1Response,
        "The vectors, as a bare list or by number format; `response_type` says which.",
    ),
    Named(
        "ImageSource",
        ImageSource,
        "A picture's source: an object with `url`, or the URL itself.",
        ({"$ref": "#/components/schemas/ImageUrl"}, {"title": "Url", "type": "string"}),
        sdk_branch="ImageUrl",
    ),
    Named(
        "VideoSource",
        VideoSource,
        "A video's source: an object with `url`, or the URL itself.",
        ({"$ref": "#/components/schemas/VideoUrl"}, {"title": "Url", "type": "string"}),
        sdk_branch="VideoUrl",
    ),
    Named(
        "AudioSource",
        AudioSource,
        "A sound's source: an object with `url`, or the URL itself.",
        ({"$ref": "#/components/schemas/AudioUrl"}, {"title": "Url", "type": "string"}),
        sdk_branch="AudioUrl",
    ),
    Named("AudioFormat", AudioFormat, "What a sound's file may be."),
    Named(
        "GridThw",
        GridThw,
        "Size of a picture in patches: temporal, height, width; of several pictures, one after another.",
        (_GRIDS,),
    ),
    Named("ContentPart", ContentPart, "One part; `type` says which."),
    Named("ContentParts", ContentParts, "The parts of one item, in reading order."),
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
    Named("StreamAnswer", StreamAnswer, "A line of a stream's answer; `type` says which."),
)
"""Leaves first: a later entry may hold copies of an earlier one."""
