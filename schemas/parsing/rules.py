"""The rules that join fields of one request, as pure functions over decoded requests.

Which names and lengths a model offers is checked by its profile. Token ids as `input` are a whole prompt as they
stand, so fields that would add to a prompt contradict them.

Source: OpenAI's `input` (array of tokens, array of arrays); docs/notes/api-contract.md.
"""

from collections.abc import Mapping, Sequence

from schemas.content.messages import Message, MessageOrConversation, conversations
from schemas.content.parts import TextPart
from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embed_v1 import EmbedV1Request
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.image_embeds import ImageEmbedsRequest
from schemas.endpoints.stream import StreamLine
from schemas.endpoints.tokenize import TokenizeRequest, as_embedding_request
from schemas.errors import RuleError
from schemas.limits import MAX_INPUTS

IDS_REFUSED = (
    "`input`: expected a string or an array of strings, got token ids. Ids of another tokenizer would give wrong "
    "vectors without notice, so send text; with LangChain's OpenAIEmbeddings set check_embedding_ctx_length=False"
)

InputItem = str | int | list[int]
"""An entry of `input`."""

_KINDS: dict[type, str] = {str: "a string", int: "a token id", list: "an array of token ids"}
_JSON_KINDS: dict[type, str] = {int: "an integer", list: "an array"}
_NAMING = ("instruction", "input_type")
_NOT_POOLED = {"on_error": "per_item", "late_chunking": True}
_PLAIN = ("float32", "little", "native")
_ADDING = ("add_generation_prompt", "add_special_tokens")


def check_embedding_request(request: EmbeddingRequest, *, accepts_token_arrays: bool = False) -> None:
    """Check a request of `POST /v1/embeddings`; `input` may hold token ids with `--token-arrays accept`.

    Raises:
        RuleError: with `missing_input`, `conflicting_input`, `empty_input`, `too_many_inputs`,
            `token_arrays_not_accepted` or `invalid_request`, for the first rule that is broken.
    """
    if [request.input, request.messages, request.inputs].count(None) != 2:
        check_one_source({"input": request.input, "messages": request.messages, "inputs": request.inputs})
    if request.stream:
        raise RuleError(
            "invalid_request",
            "`stream`: expected false, got true; vectors come as one answer here; POST /v1/embeddings/stream answers "
            "line by line",
            param="stream",
        )
    if isinstance(request.input, list):
        _check_input_list(request.input, request, accepts_token_arrays)
    if request.late_chunking:
        _check_late_chunking(request)
    if request.continue_final_message:
        _check_template_flags(request)
    if request.truncate is not None or request.truncation is not None:  # one of every two that contradict
        _check_one_truncation(request)
    if request.messages is not None:
        _check_messages(request.messages, request)


def check_pool_request(request: EmbeddingRequest) -> None:
    """Check a request of `POST /pooling`: a body of `/v1/embeddings` without what its answer has no place for.

    Raises:
        RuleError: as `check_embedding_request`, and `invalid_request`.
    """
    check_embedding_request(request)
    absent = [name for name, value in _NOT_POOLED.items() if getattr(request, name) == value]
    absent += [name for name in ("embed_dtype", "endianness") if getattr(request, name) not in (None, *_PLAIN)]
    for name in absent:
        message = f"`{name}`: this route answers float32, little-endian, of whole requests; /v1/embeddings has more"
        raise RuleError("invalid_request", message, param=name)


def check_stream_line(line: StreamLine) -> None:
    """Check a line of `POST /v1/embeddings/stream`.

    Raises:
        RuleError: with `missing_input`, `conflicting_input`, `empty_input` or `invalid_request`.
    """
    check_one_source({"input": line.input, "content": line.content, "messages": line.messages})
    if line.messages is not None:
        _check_conversation(line.messages, "messages", None, EmbeddingRequest(instruction=line.instruction))


def check_embed_request(request: EmbedRequest) -> None:
    """Check a request of `POST /v2/embed`.

    Raises:
        RuleError: with `missing_input` or `conflicting_input`.
    """
    check_one_source({"texts": request.texts, "images": request.images, "inputs": request.inputs})


def check_image_embeds_request(request: ImageEmbedsRequest) -> None:
    """Check a request of `POST /v1/image_embeds`.

    Raises:
        RuleError: with `invalid_request`.
    """
    if request.features_format == "npy" and request.embed_dtype == "bfloat16":
        message = "`embed_dtype`: got bfloat16, expected float32 or float16; npy files have no bfloat16"
        raise RuleError("invalid_request", message, param="embed_dtype")


def check_embed_v1_request(request: EmbedV1Request) -> None:
    """Check a request of `POST /v1/embed`.

    Raises:
        RuleError: with `missing_input` or `conflicting_input`.
    """
    check_one_source({"texts": request.texts, "images": request.images})


def check_tokenize_request(request: TokenizeRequest) -> None:
    """Check a request of `POST /tokenize`, with the rules and errors of `/v1/embeddings`."""
    check_one_source(
        {"prompt": request.prompt, "input": request.input, "messages": request.messages, "inputs": request.inputs}
    )
    check_embedding_request(as_embedding_request(request))


def check_one_source(sources: Mapping[str, object]) -> None:
    """Check that exactly one of some fields is set.

    Raises:
        RuleError: with `missing_input` or `conflicting_input`.
    """
    given = [name for name, value in sources.items() if value is not None]
    if len(given) == 1:
        return
    wanted = ", ".join(f"`{name}`" for name in sources)
    if not given:
        raise RuleError("missing_input", f"expected exactly one of {wanted}, got none", param=next(iter(sources)))
    got = " and ".join(f"`{name}`" for name in given)
    raise RuleError("conflicting_input", f"expected exactly one of {wanted}, got {got}", param=given[1])


def _check_input_list(items: Sequence[InputItem], request: EmbeddingRequest, accepts_token_arrays: bool) -> None:
    holds_ids = any(not isinstance(item, str) for item in items)
    if holds_ids and not accepts_token_arrays:
        raise _ids_refused(items)
    if len(items) > MAX_INPUTS and not isinstance(items[0], int):  # ids of one prompt are bounded by the model
        raise RuleError("too_many_inputs", f"`input`: expected at most {MAX_INPUTS} items, got more", param="input")
    if holds_ids:
        _check_token_arrays(items, request)


def token_arrays(items: str | Sequence[InputItem] | None) -> list[list[int]]:
    """The prompts that `input` of a checked request holds as token ids, one per vector; empty where it holds texts."""
    if not items or isinstance(items, str) or isinstance(items[0], str):  # they are not mixed
        return []
    flat = [item for item in items if isinstance(item, int)]
    return [flat] if flat else [item for item in items if isinstance(item, list)]


def _ids_refused(items: Sequence[InputItem]) -> RuleError:
    """The error for token ids, or for the first entry among texts that is no text."""
    place, odd = next((i, item) for i, item in enumerate(items) if not isinstance(item, str))
    if not any(isinstance(item, str) for item in items):
        return RuleError("token_arrays_not_accepted", IDS_REFUSED, param="input")
    param, got = f"input[{place}]", _JSON_KINDS[type(odd)]
    message = f"`{param}`: expected a string like other entries, got {got}; this server accepts no token ids"
    return RuleError("token_arrays_not_accepted", message, param=param, index=place)


def _check_token_arrays(items: Sequence[InputItem], request: EmbeddingRequest) -> None:
    for i, item in enumerate(items):
        param = f"input[{i}]"
        if type(item) is not type(items[0]):
            wanted, got = _KINDS[type(items[0])], _KINDS[type(item)]
            message = f"`{param}`: expected {wanted} like the entries before it, got {got}; they are not mixed"
            raise RuleError("invalid_request", message, param=param)
        if item == []:
            message = f"`{param}`: expected at least 1 token id, got none"
            raise RuleError("empty_input", message, param=param, index=i)
    for name in (*_NAMING, *_ADDING):
        value = getattr(request, name)
        if value is not None and value is not False:
            wanted, got = (
                (f"no `{name}` beside them", "one") if name in _NAMING else (f"`{name}` false or absent", "true")
            )
            message = f"token ids are a whole prompt as they stand: expected {wanted}, got {got}"
            raise RuleError("conflicting_input", message, param=name)


def _check_one_truncation(request: EmbeddingRequest) -> None:
    ways: dict[str, object] = {
        "truncate": request.truncate,
        "truncation": request.truncation,
        "truncate_prompt_tokens": request.truncate_prompt_tokens,
    }
    if request.truncate is not None:
        ways["truncation_side"] = request.truncation_side
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1:
        message = f"expected one way to shorten texts, got `{given[0]}` and `{given[1]}`"
        raise RuleError("conflicting_input", message, param=given[1])


def _check_late_chunking(request: EmbeddingRequest) -> None:
    if request.input is None:
        got = "`messages`" if request.messages is not None else "`inputs`"
        message = f"`late_chunking`: expected `input` beside it, with the chunks of one text, got {got}"
        raise RuleError("conflicting_input", message, param="late_chunking")
    if token_arrays(request.input):
        message = "`late_chunking`: expected strings in `input`, the chunks of one text, got token ids"
        raise RuleError("conflicting_input", message, param="late_chunking")
    if request.on_error == "per_item":
        message = (
            "`on_error`: got `per_item` with `late_chunking`; chunks are read together, and none has a vector without "
            "the others: send `fail`"
        )
        raise RuleError("conflicting_input", message, param="on_error")


def _check_template_flags(request: EmbeddingRequest) -> None:
    if request.add_generation_prompt:
        message = (
            "`continue_final_message` and `add_generation_prompt` are both true; a turn is left open or followed by one"
        )
        raise RuleError("invalid_request", message, param="continue_final_message")
    if request.messages is None:
        message = "`continue_final_message`: expected `messages` beside it, got none"
        raise RuleError("invalid_request", message, param="continue_final_message")


def _check_messages(messages: list[MessageOrConversation], request: EmbeddingRequest) -> None:
    batched = not isinstance(messages[0], Message)
    for i, entry in enumerate(messages):
        if isinstance(entry, Message) is batched:
            wanted, got = ("a conversation", "a message") if batched else ("a message", "a conversation")
            message = f"`messages[{i}]`: expected {wanted} like the entries before it, got {got}; the two are not mixed"
            raise RuleError("invalid_request", message, param=f"messages[{i}]")
    for i, conversation in enumerate(conversations(messages)):
        param, index = (f"messages[{i}]", i) if batched else ("messages", None)
        _check_conversation(conversation, param, index, request)


def _check_conversation(turns: Sequence[Message], param: str, index: int | None, request: EmbeddingRequest) -> None:
    for i, turn in enumerate(turns):
        if turn.role == "system" and i > 0:
            message = f"`{param}[{i}].role`: expected user or assistant, got system; a system message comes first"
            raise RuleError("invalid_request", message, param=f"{param}[{i}].role", index=index)
    has_system = turns[0].role == "system"
    if has_system and request.instruction is not None:
        message = f"expected one instruction, got `instruction` and the system message `{param}[0]`"
        raise RuleError("conflicting_input", message, param="instruction", index=index)
    if has_system and len(turns) == 1:
        message = f"`{param}`: expected a user or assistant message, got a system message alone"
        raise RuleError("empty_input", message, param=param, index=index)
    content = turns[-1].content
    holds_text = isinstance(content, str) or any(isinstance(part, TextPart) for part in content)
    if request.continue_final_message and not holds_text:
        last = f"{param}[{len(turns) - 1}].content"
        message = f"`{last}`: expected text, got images alone; `continue_final_message` leaves a text open"
        raise RuleError("invalid_request", message, param=last, index=index)
