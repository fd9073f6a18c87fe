"""`POST /v1/embeddings/stream`."""

from litestar import post
from litestar.types import ASGIApp

from schemas.endpoints.stream import (
    EXAMPLE_ID,
    StreamAnswer,
    StreamEnd,
    StreamFailure,
    StreamLine,
    StreamOptions,
    StreamVector,
)
from schemas.errors import ErrorBody
from schemas.parsing.stream_request import base_request, read_options
from service.errors import UnavailableError
from service.front.admission.stream_bounds import StreamRateLimit
from service.front.inputs.sources import embedding_truncation
from service.front.serving.serving import serving_of
from service.http.examples import COLORS, IMAGE_PART, TEXT_PART, VECTOR, example, sample, usage, user
from service.http.request import AnyRequest, caller_of, check_kind, context_of
from service.http.route import Route
from service.http.stream.body import DRAINING_RETRY_S, GOING
from service.http.stream.session import NDJSON, EmbeddingStream
from service.outputs.chunks import embeddings_ask


@post("/v1/embeddings/stream", status_code=200)
async def create_embedding_stream(request: AnyRequest) -> ASGIApp:
    """One line for each line, as they are done. Errors before the first line are answered as on any other route."""
    serving, context = serving_of(request.app), context_of(request.scope)
    check_kind(context, NDJSON)
    options = read_options(request.scope["query_string"], ignore_unknown=serving.settings.unknown_fields == "ignore")
    base = base_request(options)
    if serving.is_draining:
        raise UnavailableError("server_draining", GOING, retry_after_s=DRAINING_RETRY_S)
    online = serving.find(options.model, "dense", "`/v1/embeddings/stream`")
    name = options.model or online.model.name
    online.model.check_instruction(options.instruction or "")
    if options.input_type is not None:
        online.model.instruction_of(options.input_type)
    if options.part_order == "as_written":
        online.model.check_order()
    embedding_truncation(base, online.model.profile.max_tokens, online.reader.long_texts)
    dimensions = base.dimensions or online.model.profile.dimensions
    if base.dimensions:
        online.model.check_dimensions(dimensions, "dimensions")
    ask = embeddings_ask(base, dimensions, online.model.offer)
    caller = caller_of(context, serving.settings.request_timeout_s)
    rate_limit = StreamRateLimit(context.meter)
    return EmbeddingStream(serving, online, base, ask, caller, rate_limit, name)


_FAILURE = sample(
    ErrorBody,
    message="line 8: expected one JSON object in UTF-8, got text that is malformed at byte 4",
    param=None,
    code="invalid_json",
    index=7,
)

ROUTE = Route(
    create_embedding_stream,
    "createEmbeddingStream",
    takes_timeout=True,
    summary="Vectors of any number of lines, as they are done",
    description=(
        "The body is lines of JSON, one `StreamLine` each; the answer is lines of JSON, one `StreamAnswer` each, "
        "in order of completion: `index` and `id` say which line an answer belongs to. Both schemas here are of "
        "one line. Options for all lines are query parameters. The vectors are those of `/v1/embeddings`. The "
        "answer begins before the body has ended, and the body is read only as fast as answers are taken: send "
        "and read at the same time. A line that is malformed, too long or refused is answered by an error, and the "
        "stream goes on. The last line has `type` `end`; an answer without it was cut off. `X-Request-Timeout` "
        "applies to each line, from when it was read."
    ),
    query=StreamOptions,
    request=StreamLine,
    request_media_type=NDJSON.decode(),
    response=StreamAnswer,
    media_type=NDJSON.decode(),
    error_statuses=(400, 401, 404, 414, 415, 429, 431, 500, 503),
    headers=("x-model-fingerprint", "x-total-time"),
    request_examples={
        "text": example("A text", {"id": EXAMPLE_ID, "input": "a red bicycle against a wall"}),
        "fused": example(
            "An image and a text in one vector, under an instruction of its own",
            {"id": EXAMPLE_ID, "content": [IMAGE_PART, TEXT_PART], "instruction": COLORS},
        ),
        "conversation": example("A conversation", {"messages": [user(TEXT_PART)]}),
    },
    response_examples={
        "vector": example("Of a line that has its vector", sample(StreamVector, id=EXAMPLE_ID, embedding=VECTOR)),
        "failure": example("Of a line that is not JSON", sample(StreamFailure, error=_FAILURE)),
        "end": example("The last line", sample(StreamEnd, num_lines=8, num_answered=7, usage=usage(182, 8))),
    },
)
