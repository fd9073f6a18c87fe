"""A refusal written by a ring, before Litestar has seen the request: the same body as every other error."""

from collections.abc import Mapping

from litestar.types import Scope, Send

from service.errors import ServiceError
from service.http.errors import STATUS, error_answer
from service.http.exchange import told_of
from service.http.request_id import request_id


async def refuse(scope: Scope, send: Send, error: ServiceError, headers: Mapping[str, str]) -> None:
    """Answer with an error.

    Args:
        scope: of the request.
        send: of the request.
        error: why.
        headers: of the answer, beside its type and length.
    """
    told_of(scope)["code"] = error.code
    body = error_answer(error, request_id(scope), scope["path"])
    named = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    encoded = [(name.lower().encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": STATUS[error.code], "headers": encoded})
    await send({"type": "http.response.body", "body": body, "more_body": False})
