"""`POST /tokenize` and `POST /detokenize`: what the front knows by itself. No picture is decoded, no engine is asked.

The prompts are those of `/v1/embeddings`, from the same reader and builder, so their tokens cannot differ.
"""

from collections.abc import Sequence

import msgspec
from litestar import MediaType, post

from schemas.rules import check_tokenize_request
from schemas.tokenize import (
    DetokenizeRequest,
    DetokenizeResponse,
    TokenizeData,
    TokenizeRequest,
    TokenizeResponse,
    as_embedding_request,
)
from service.errors import InputError, ServiceError
from service.fairness.threads import Steps
from service.front.admission import Place
from service.front.answer_room import Hold
from service.front.job import Job
from service.front.served_model import ServedModel
from service.front.serving import Online, Serving, serving_of
from service.front.tenant import Caller
from service.http.body import announced_bytes, read_body
from service.http.caller import caller_of
from service.http.errors import AnyRequest, error_body
from service.http.late import Parts
from service.http.reply import Reply, reply
from service.http.request_id import request_id
from service.ipc.messages import OutputSpec
from service.prompt.prompt import Prompt
from service.prompt.token_strs import token_strs
from service.stages import stage

MAX_DETOKENIZE_BYTES = 2 << 20
"""Room for as many token ids as a request may have; this route takes nothing larger, whatever `max_body_bytes` says."""

TOKEN_BYTES = 16
"""Of an answer, for each token: its id twice, with a comma."""

STR_BYTES = 16
"""Of an answer, for the text of a token: those of a whole text are as long as it, but for quotes and escapes."""


@post("/tokenize", status_code=200)
async def tokenize(request: AnyRequest) -> Reply:
    """The tokens that `/v1/embeddings` would read for the same body."""
    serving = serving_of(request.app)
    caller = caller_of(request, serving.settings.request_timeout_s)
    with serving.admission.body(announced_bytes(request, serving.settings.max_body_bytes), caller.tenant) as room:
        return await _tokenize(request, serving, caller, room)


@post("/detokenize", status_code=200, request_max_body_size=MAX_DETOKENIZE_BYTES)
async def detokenize(request: AnyRequest) -> Reply:
    """The text of token ids."""
    serving = serving_of(request.app)
    caller = caller_of(request, serving.settings.request_timeout_s)
    with serving.admission.body(announced_bytes(request, MAX_DETOKENIZE_BYTES), caller.tenant) as room:
        return await _detokenize(request, serving, caller, room)


async def _tokenize(request: AnyRequest, serving: Serving, caller: Caller, room: Place) -> Reply:
    body = await read_body(request, TokenizeRequest, room, ignore_unknown=serving.ignores_unknown_fields)
    check_tokenize_request(body)
    online = serving.online()
    online.model.check_name(body.model)
    with_strs = body.return_token_strs or False
    output = OutputSpec(dimensions=online.model.profile.dimensions)  # of a vector that nobody asks for
    job = online.reader.embedding_job(as_embedding_request(body), output, caller.tenant)
    # A token has a byte of text at least; images and all that is cut have many more bytes than tokens.
    most_tokens = min(room.load.num_bytes, job.num_inputs * online.model.profile.max_tokens)
    hold = serving.answers.hold(most_tokens * (TOKEN_BYTES + STR_BYTES * with_strs), caller.tenant)
    prompts = await _prompts(body, job, online, caller)
    num_tokens = sum(len(prompt.token_ids) for prompt in prompts if isinstance(prompt, Prompt))
    steps = _tokens(prompts, online.model, request_id(request.scope), with_strs=with_strs)
    return await written_aside(serving, steps, num_tokens, hold)


async def _prompts(body: TokenizeRequest, job: Job, online: Online, caller: Caller) -> Sequence[Prompt | ServiceError]:
    try:
        prepared = await online.embedder.prepare(job, caller)
    except InputError as error:
        _rename(error, body)
        raise
    for one in prepared:
        if isinstance(one, InputError):
            _rename(one, body)
    return prepared


def _rename(error: InputError, body: TokenizeRequest) -> None:
    if body.prompt is not None and error.param == "input":
        error.param = "prompt"


def _tokens(
    prepared: Sequence[Prompt | ServiceError], model: ServedModel, id_: str, *, with_strs: bool
) -> Steps[TokenizeResponse]:
    prompts = [one for one in prepared if isinstance(one, Prompt)]
    strs: list[str] = []
    for prompt in prompts if with_strs else ():
        strs += token_strs(model.tokenizer, prompt.token_ids)
        yield
    tokens = [token_id for prompt in prompts for token_id in prompt.token_ids]
    return TokenizeResponse(
        count=len(tokens),
        max_model_len=model.profile.max_tokens,
        tokens=tokens,
        token_strs=strs if with_strs else None,
        data=[_entry(index, one, id_) for index, one in enumerate(prepared)],
    )


def _entry(index: int, prompt: Prompt | ServiceError, id_: str) -> TokenizeData:
    if isinstance(prompt, ServiceError):
        error = error_body(prompt, id_)
        return TokenizeData(index=index, count=0, tokens=[], image_tokens=0, truncated=False, error=error)
    num_tokens = len(prompt.token_ids)
    return TokenizeData(
        index=index,
        count=num_tokens,
        tokens=prompt.token_ids,
        image_tokens=prompt.num_image_tokens,
        truncated=prompt.truncated,
    )


async def _detokenize(request: AnyRequest, serving: Serving, caller: Caller, room: Place) -> Reply:
    body = await read_body(request, DetokenizeRequest, room, ignore_unknown=serving.ignores_unknown_fields)
    online = serving.online()
    online.model.check_name(body.model)
    check_ids(body.tokens, online.model.tokenizer.num_ids)
    hold = serving.answers.hold(len(body.tokens) * STR_BYTES, caller.tenant)
    return await written_aside(serving, _text(body.tokens, online.model), len(body.tokens), hold)


def _text(token_ids: Sequence[int], model: ServedModel) -> Steps[DetokenizeResponse]:
    yield
    return DetokenizeResponse(prompt=model.tokenizer.decode(token_ids))


def check_ids(token_ids: Sequence[int], num_ids: int) -> None:
    """Pass where every id is of the vocabulary.

    Args:
        token_ids: `tokens` of a request.
        num_ids: of the model.

    Raises:
        InputError: one is not.
    """
    for place, token_id in enumerate(token_ids):
        if token_id >= num_ids:
            message = f"`tokens[{place}]`: expected a token id from 0 to {num_ids - 1}, got {token_id}"
            raise InputError("invalid_request", message, param=f"tokens[{place}]")


async def written_aside(serving: Serving, steps: Steps[msgspec.Struct], num_tokens: int, hold: Hold | None) -> Reply:
    """The answer, made in a thread: a full batch has a million tokens.

    Args:
        serving: the service.
        steps: make it.
        num_tokens: it tells of.
        hold: room for it, or None.
    """

    def encode() -> Steps[bytes]:
        return msgspec.json.encode((yield from steps))

    with stage("write"):
        body = await serving.online().embedder.work(encode(), num_tokens)
    if hold is not None:
        hold.keep(len(body))
    return reply(serving.turns, Parts([body]), {}, MediaType.JSON, hold)
