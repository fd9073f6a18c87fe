"""`POST /tokenize` and `POST /detokenize`, answered by the front alone: no image is decoded, no engine is asked.

The prompts are those of `/v1/embeddings`, from the same reader and builder, so their tokens cannot differ.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from litestar import MediaType, post
from litestar.types import ASGIApp

from schemas.endpoints.cohere_tokens import CohereDetokenizeRequest
from schemas.endpoints.tokenize import (
    DetokenizeRequest,
    DetokenizeResponse,
    TokenizeData,
    TokenizeRequest,
    TokenizeResponse,
    as_embedding_request,
)
from schemas.parsing.rules import check_tokenize_request
from service.accounting import stage
from service.errors import InputError, ServiceError
from service.fairness import Steps
from service.front.admission.budget import Lease
from service.front.served_model import ServedModel
from service.front.serving.model_serving import Online
from service.front.serving.serving import Serving
from service.http.errors import report_error
from service.http.examples import IMAGE_PART, TEXT_PART, example, invalid, missing, sample, to_builtin, user
from service.http.request import Call, reads
from service.http.responses.answer import BodyParts, reply
from service.http.route import TOKEN_STATUSES, Route
from service.outputs.chunks import embeddings_ask
from service.prompt.prompt import Prompt

MAX_DETOKENIZE_BYTES = 2 << 20
"""Room for as many token ids as a request may have; this route takes nothing larger, whatever `max_body_bytes` says."""

TOKEN_BYTES = 16
"""Of an answer, for each token: its id twice, with a comma."""

STR_BYTES = 16
"""Of an answer, for the text of a token: those of a whole text are as long as it, but for quotes and escapes."""

D = TypeVar("D", DetokenizeRequest, CohereDetokenizeRequest)


@post("/tokenize", status_code=200)
@reads(TokenizeRequest)
async def tokenize(call: Call[TokenizeRequest]) -> ASGIApp:
    """The tokens that `/v1/embeddings` would read for the same body."""
    serving, tenant, body = call.serving, call.caller.tenant, call.body
    check_tokenize_request(body)
    online = serving.find(body.model, "prompt", body=body)
    with_strs = body.return_token_strs or False
    dimensions = body.dimensions or online.model.profile.dimensions
    if body.dimensions:
        online.model.check_dimensions(dimensions, "dimensions")
    as_embedded = as_embedding_request(body)
    ask = embeddings_ask(as_embedded, dimensions, online.model.offer)  # no vector is made
    job = online.reader.embedding_job(as_embedded, (ask,), tenant)
    # A token has a byte of text at least; images and all that is cut have many more bytes than tokens. Windows of
    # late chunking repeat less than twice as much.
    num_repeats = 3 if ask.joins_inputs else 1
    max_tokens = min(call.num_bytes * num_repeats, len(job.inputs) * online.model.profile.max_tokens)
    lease = serving.answers.take_answer(max_tokens * (TOKEN_BYTES + STR_BYTES * with_strs), tenant)
    try:
        prepared = await online.embedder.prepare(job, call.caller)
    except InputError as error:
        _rename(error, body)
        raise
    for one in prepared:
        if isinstance(one, InputError):
            _rename(one, body)
    num_tokens = sum(len(prompt.plan.ids) for prompt in prepared if isinstance(prompt, Prompt))
    steps = _tokens(prepared, online.model, call.context.id, with_strs=with_strs)
    return await answer_in_thread(serving, online, steps, num_tokens, lease)


@post("/detokenize", status_code=200, request_max_body_size=MAX_DETOKENIZE_BYTES)
@reads(DetokenizeRequest)
async def detokenize(call: Call[DetokenizeRequest]) -> ASGIApp:
    """The text of token ids."""
    return await answer_text(call, lambda text: DetokenizeResponse(prompt=text))


def _rename(error: InputError, body: TokenizeRequest) -> None:
    if body.prompt is not None and error.param == "input":
        error.param, error.message = "prompt", error.message.replace("`input`", "`prompt`", 1)


def _tokens(
    prepared: Sequence[Prompt | ServiceError], model: ServedModel, id_: str, *, with_strs: bool
) -> Steps[TokenizeResponse]:
    prompts = [one for one in prepared if isinstance(one, Prompt)]
    strs: list[str] = []
    for prompt in prompts if with_strs else ():
        strs += model.tokenizer.token_strs(prompt.plan.ids)
        yield
    tokens = [token_id for prompt in prompts for token_id in prompt.plan.ids]
    return TokenizeResponse(
        count=len(tokens),
        max_model_len=model.profile.max_tokens,
        tokens=tokens,
        token_strs=strs if with_strs else None,
        data=[_entry(index, one, id_) for index, one in enumerate(prepared)],
    )


def _entry(index: int, prompt: Prompt | ServiceError, id_: str) -> TokenizeData:
    if isinstance(prompt, ServiceError):
        error = report_error(prompt, id_)
        return TokenizeData(index=index, count=0, tokens=[], image_tokens=0, truncated=False, error=error)
    num_tokens = len(prompt.plan.ids)
    return TokenizeData(
        index=index,
        count=num_tokens,
        tokens=prompt.plan.ids,
        image_tokens=prompt.num_image_tokens,
        truncated=prompt.truncated,
    )


async def answer_text(call: Call[D], respond: Callable[[str], msgspec.Struct]) -> ASGIApp:
    """The text of a request's token ids, in the form that `respond` gives it, for this route and `/v1/detokenize`."""
    serving, token_ids = call.serving, call.body.tokens
    online = serving.find(call.body.model, "prompt", body=call.body)
    model = online.model
    _check_ids(token_ids, model.tokenizer.num_ids)
    lease = serving.answers.take_answer(len(token_ids) * STR_BYTES, call.caller.tenant)

    def decode() -> Steps[msgspec.Struct]:
        yield
        return respond(model.tokenizer.decode(token_ids))

    return await answer_in_thread(serving, online, decode(), len(token_ids), lease)


def _check_ids(token_ids: Sequence[int], num_ids: int) -> None:
    """Refuse ids that the vocabulary lacks."""
    for index, token_id in enumerate(token_ids):
        if token_id >= num_ids:
            message = f"`tokens[{index}]`: expected a token id from 0 to {num_ids - 1}, got {token_id}"
            raise InputError("invalid_request", message, param=f"tokens[{index}]")


async def answer_in_thread(
    serving: Serving, online: Online, steps: Steps[msgspec.Struct], num_tokens: int, lease: Lease
) -> ASGIApp:
    """The answer that `steps` make, in a thread of the model's: a full batch has a million tokens."""

    def encode() -> Steps[bytes]:
        return msgspec.json.encode((yield from steps))

    with stage("write"):
        body = await online.embedder.texts.run_steps(encode(), num_tokens)
    lease.keep(len(body))
    return reply(serving.turns, BodyParts([body]), [], MediaType.JSON, lease)


_TOKENS = [1785, 1288, 198, 443]
TOKENS_BODY = to_builtin("Six tokens", tokens=[64, 392, 268, 582, 88, 415])
BAD_TOKEN = invalid("invalid_request", "`tokens[1]`: expected a token id from 0 to 1791, got 1800", "tokens[1]")

ROUTES = (
    Route(
        tokenize,
        "tokenizeInputs",
        takes_timeout=True,
        tag="Tokens",
        summary="The tokens that a request would have",
        description=(
            "Exactly one of `prompt`, `input`, `messages` and `inputs` holds what to tokenize. The tokens are those "
            "that `/v1/embeddings` reads for the same fields, template, instruction and images included."
        ),
        request=TokenizeRequest,
        response=TokenizeResponse,
        request_examples={
            "prompt": to_builtin(
                "One text, with the text of each token", prompt="a red bicycle", return_token_strs=True
            ),
            "texts": to_builtin("Two texts", input=["a red bicycle", "a green door"]),
            "fused": to_builtin("How many tokens is this image?", inputs=[{"content": [IMAGE_PART, TEXT_PART]}]),
            "conversation": to_builtin(
                "A conversation, cut to 24 tokens", messages=[user(TEXT_PART)], truncate_prompt_tokens=24
            ),
        },
        response_examples={
            "prompt": example(
                "The first four tokens of a prompt",
                sample(
                    TokenizeResponse,
                    count=4,
                    tokens=_TOKENS,
                    token_strs=["<|im_start|>", "system", "\n", "Represent"],
                    data=[sample(TokenizeData, count=4, tokens=_TOKENS)],
                ),
            )
        },
        error_examples={400: missing("prompt", "input", "messages", "inputs")},
    ),
    Route(
        detokenize,
        "detokenizeTokens",
        tag="Tokens",
        summary="The text of token ids",
        description="Special tokens are written out. Each image token of an image's run is written out too.",
        request=DetokenizeRequest,
        response=DetokenizeResponse,
        error_statuses=TOKEN_STATUSES,
        request_examples={"tokens": TOKENS_BODY},
        response_examples={"text": example("Their text", sample(DetokenizeResponse, prompt="a red bicycle"))},
        error_examples={400: BAD_TOKEN},
    ),
)
