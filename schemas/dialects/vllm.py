"""vLLM's `/v1/embeddings`: conversations in `input`, and fields that ours has not.

Those that change nothing here are ignored by name; those that would change numbers are refused.

Source: vLLM 0.33.0, `entrypoints/pooling/embed/protocol.py` (docs/notes/api-contract.md).
"""

from typing import Annotated, Any

from msgspec import Meta

from schemas.base import Wire
from schemas.content.messages import MessageOrConversation
from schemas.dialects.dialect import Dialect, OtherEmbeddingRequest, Shape, as_own, refuse
from schemas.endpoints.score_fields import PriorityField
from schemas.fields import TruncateField
from schemas.limits import MAX_INPUTS

OtherOptions = dict[str, Any]
"""Options of another server, by name."""

OptionsField = Annotated[
    OtherOptions | None,
    Meta(description="Only empty: they would change the vectors, and a vector here is the reference's.", examples=[{}]),
]

VllmInput = str | Annotated[list[str | MessageOrConversation], Meta(min_length=1, max_length=MAX_INPUTS)]
"""A text, texts, the messages of one conversation, or conversations."""

IGNORED = ("cache_salt", "priority", "request_id")
"""Fields that change nothing here: caches are apart by API key, requests take turns, `X-Request-Id` names them."""

REFUSED = {
    "mm_processor_kwargs": "images are resized as the model's reference does",
    "media_io_kwargs": "`image_background` is the color under transparent pixels",
    "chat_template_kwargs": "`instruction` is what the template holds",
    "late_chunking_params": "`late_chunking: true` takes the chunks of one text in `input`",
}
"""Fields that would change the vectors, and what there is here."""

OWN = frozenset((*IGNORED, *REFUSED, "use_activation", "padding", "chat_template"))

_EXAMPLE = [{"role": "user", "content": [{"type": "text", "text": "a red bicycle"}]}]


class VllmEmbeddingRequest(OtherEmbeddingRequest, frozen=True, kw_only=True):
    """`/v1/embeddings` with vLLM's fields."""

    input: Annotated[
        VllmInput | None,
        Meta(
            description="A conversation (a list of messages), which gives ONE vector, or a list of conversations, "
            "which gives one vector each: `messages` of this server. Texts too.",
            examples=[_EXAMPLE],
        ),
    ] = None
    truncate: TruncateField = None
    use_activation: Annotated[bool | None, Meta(description="`normalize` of this server.", examples=[True])] = None
    cache_salt: Annotated[str | None, Meta(description="Accepted and ignored.", examples=["tenant-1"])] = None
    priority: PriorityField = None
    request_id: Annotated[
        str | None, Meta(description="Accepted and ignored; `X-Request-Id` names a request.", examples=["req-1"])
    ] = None
    padding: Annotated[
        str | None,
        Meta(description="Only `do_not_pad`: prompts are as the reference pads them.", examples=["do_not_pad"]),
    ] = None
    chat_template: Annotated[
        str | None,
        Meta(description="Only empty: the model's own template holds.", examples=[""]),
    ] = None
    mm_processor_kwargs: OptionsField = None
    media_io_kwargs: OptionsField = None
    chat_template_kwargs: OptionsField = None
    late_chunking_params: OptionsField = None


def read(body: VllmEmbeddingRequest, own: type[Wire]) -> Wire:
    """The same request in our fields.

    Raises:
        RuleError: a field would change the vectors, or says the same twice.
    """
    for name, instead in REFUSED.items():
        if getattr(body, name):
            refuse(name, f"expected none or {{}}, got options, which would change the vectors; {instead}")
    if body.padding not in (None, "do_not_pad"):
        refuse("padding", "expected do_not_pad, got another; prompts are as the reference pads them")
    if body.chat_template:
        refuse("chat_template", "expected none, got a template; the model's own holds, with `instruction` in it")
    changes: dict[str, Any] = {}
    if body.use_activation is not None:
        if body.normalize not in (None, body.use_activation):
            refuse("use_activation", "got `normalize` beside it, which says the opposite", "conflicting_input")
        changes["normalize"] = body.use_activation
    if isinstance(body.input, list) and not all(isinstance(one, str) for one in body.input):
        for index, one in enumerate(body.input):
            if isinstance(one, str):
                refuse(f"input[{index}]", "expected a message or a conversation like the others, got a string")
        changes |= {"input": None, "messages": body.input}
    return as_own(body, own, **changes)


def tells(shape: Shape) -> bool:
    """True where a field is vLLM's, or `input` has messages."""
    return bool(shape.fields & OWN) or ("input" in shape.fields and not shape.entries.isdisjoint(("role", "[].role")))


DIALECT = Dialect(
    name="vLLM",
    about="Conversations in `input`; fields that change nothing are ignored, those that change vectors refused.",
    body=VllmEmbeddingRequest,
    tells=tells,
    read=read,
    example={
        "model": "builtin",
        "input": _EXAMPLE,
        "use_activation": True,
        "cache_salt": "tenant-1",
        "priority": 0,
        "mm_processor_kwargs": {},
    },
)
