"""`POST /api/embed` and `/api/embeddings`, as Ollama has them: what its clients send, and the answers that they read.

Source: Ollama 0.13, `api/types.go` and `server/routes.go`; its clients ollama 0.6 for Python and JavaScript.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.dialects.items import MediaInput
from schemas.dialects.vllm import OtherOptions
from schemas.errors import ErrorBody
from schemas.fields import DimensionsField

KeepAlive = str | float
"""How long Ollama keeps a model loaded: `5m`, or seconds."""

OllamaModelField = Annotated[
    str | None,
    Meta(
        description="The model's id or an alias, as `/v1/models` lists them, with or without `:latest`. Absent means "
        "the one that is served.",
        examples=["builtin"],
    ),
]

OptionsField = Annotated[
    OtherOptions | None,
    Meta(
        description="`num_ctx` is the most tokens of an input, if it is below the model's own limit. The others "
        "concern Ollama's runner or generated text, change nothing here, and are ignored.",
        examples=[{"num_ctx": 2048}],
    ),
]

KeepAliveField = Annotated[
    KeepAlive | None, Meta(description="Accepted and ignored: models stay loaded.", examples=["5m"])
]


class OllamaEmbedRequest(Wire, frozen=True, kw_only=True):
    """Texts to embed, and media where the model takes them."""

    model: OllamaModelField = None
    input: Annotated[
        MediaInput,
        Meta(
            description="A text, or items: texts, and objects with `text`, `image` or `video`, one vector each.",
            examples=[[{"text": "a red bicycle"}]],
        ),
    ]
    truncate: Annotated[
        bool | None,
        Meta(
            description="Whether a text over the limit is cut; false makes it an error. Absent means true.",
            examples=[True],
        ),
    ] = None
    dimensions: DimensionsField = None
    options: OptionsField = None
    keep_alive: KeepAliveField = None


class OllamaEmbeddingsRequest(Wire, frozen=True, kw_only=True):
    """One text to embed, in the older form."""

    model: OllamaModelField = None
    prompt: Annotated[str, Meta(description="The text.", examples=["a red bicycle"])]
    options: OptionsField = None
    keep_alive: KeepAliveField = None


DurationField = Annotated[
    int, Meta(description="Nanoseconds.", extra_json_schema={"format": "int64"}, examples=[14_143_917])
]


class OllamaEmbedResponse(Answer, frozen=True, kw_only=True):
    """The vectors, in the order of the request."""

    model: Annotated[str, Meta(description="The model's name as the request gave it.", examples=["builtin"])]
    embeddings: Annotated[
        list[list[float]], Meta(description="A vector for each input.", examples=[[[0.5, -0.5, 0.5, 0.5]]])
    ]
    total_duration: DurationField
    load_duration: Annotated[DurationField, Meta(description="Always 0: the model is loaded.", examples=[0])] = 0
    prompt_eval_count: Annotated[Count, Meta(description="Tokens that the model read.", examples=[26])]


class OllamaEmbeddingsResponse(Answer, frozen=True, kw_only=True):
    """The vector."""

    embedding: Annotated[list[float], Meta(description="The vector.", examples=[[0.5, -0.5, 0.5, 0.5]])]


class OllamaErrorResponse(Answer, frozen=True, kw_only=True):
    """The error answer of Ollama's routes: a sentence, where its clients look for it, and what other routes have."""

    error: Annotated[str, Meta(description="What went wrong.", examples=["`input`: required, got nothing"])]
    detail: Annotated[ErrorBody | UnsetType, Meta(description="The error as other routes answer it.")] = UNSET
