"""The rules that join fields of requests for scores, as pure functions over decoded requests."""

from collections.abc import Sequence

from schemas.content.scored import RerankInput, RerankItem, ScoreInput
from schemas.endpoints.rerank import AnyRerankRequest, RerankRequest
from schemas.endpoints.rerank_v2 import CohereRerankRequest
from schemas.endpoints.score import ScoreRequest
from schemas.errors import ErrorCode, RuleError
from schemas.parsing.rules import check_one_source

SIDES = (("queries", "documents"), ("text_1", "text_2"), ("data_1", "data_2"))
"""Names of queries and of documents that a request of `/score` may have."""

_ONLY_WITH_TEXTS = ("return_text", "truncate", "truncation_direction")
_TOGETHER = ("text", "image", "video")


def check_rerank_request(request: RerankRequest | CohereRerankRequest, documents_name: str = "documents") -> None:
    """Check a request of `POST /v1/rerank`, `/v2/rerank` or `/v1/ranking`.

    Args:
        documents_name: of the field that has the documents, for errors.

    Raises:
        RuleError: with `missing_input` or `conflicting_input`.
    """
    _check_item(request.query, "query")
    _check_items(request.documents, documents_name)
    _check_rank_fields(request.rank_fields or [])
    _check_raw(request)


def check_any_rerank_request(request: AnyRerankRequest) -> None:
    """Check a request of `POST /rerank`.

    Raises:
        RuleError: with `missing_input`, `conflicting_input` or `invalid_request`.
    """
    check_one_source({"documents": request.documents, "texts": request.texts})
    _check_item(request.query, "query")
    _check_items(request.documents or [], "documents")
    _check_items(request.texts or [], "texts")
    _check_rank_fields(request.rank_fields or [])
    _check_raw(request)
    if request.texts is None:
        for name in _ONLY_WITH_TEXTS:
            if getattr(request, name) is not None:
                raise RuleError("invalid_request", f"`{name}`: goes with `texts`, got `documents`", param=name)
    else:
        _check_texts_form(request)


def check_score_request(request: ScoreRequest) -> None:
    """Check a request of `POST /score`.

    Raises:
        RuleError: with `missing_input`, `conflicting_input` or `invalid_request`.
    """
    check_one_source({name: getattr(request, name) for pair in SIDES for name in pair[:1]})
    queries_name, documents_name = sides_of(request)
    for one, other in SIDES:
        if other != documents_name and getattr(request, other) is not None:
            message = f"`{other}`: goes with `{one}`, got `{queries_name}`"
            raise RuleError("conflicting_input", message, param=other)
    if getattr(request, documents_name) is None:
        message = f"`{documents_name}`: required beside `{queries_name}`, got nothing"
        raise RuleError("missing_input", message, param=documents_name)
    queries, documents = (getattr(request, name) for name in (queries_name, documents_name))
    for name, side in ((queries_name, queries), (documents_name, documents)):
        _check_items(side, name) if isinstance(side, list) else _check_item(side, name)
    num_queries, num_documents = num_items(queries), num_items(documents)
    if num_queries not in (1, num_documents):
        several = f" or {num_documents}" if num_documents > 1 else ""
        message = f"`{queries_name}`: expected 1{several}, as many as `{documents_name}`, got {num_queries}"
        raise RuleError("invalid_request", message, param=queries_name)
    _check_raw(request)


def sides_of(request: ScoreRequest) -> tuple[str, str]:
    """The names under which a request has its queries and its documents."""
    return next(pair for pair in SIDES if getattr(request, pair[0]) is not None)


def num_items(side: ScoreInput) -> int:
    """Number of queries or documents in a side of `/score`."""
    return len(side) if isinstance(side, list) else 1


def _check_texts_form(request: AnyRerankRequest) -> None:
    if request.on_error == "per_item":
        message = "`on_error`: expected fail, got per_item; the list that answers `texts` has no place for errors"
        raise RuleError("invalid_request", message, param="on_error")
    if request.return_documents is not None:
        message = "`return_documents`: goes with `documents`; with `texts` it is `return_text`"
        raise RuleError("invalid_request", message, param="return_documents")
    given = [
        name
        for name in ("truncate_prompt_tokens", "truncation_side", "truncate", "truncation_direction")
        if getattr(request, name) is not None
    ]
    if len({name in _ONLY_WITH_TEXTS for name in given}) > 1:
        message = f"expected one way to shorten texts, got `{given[0]}` and `{given[-1]}`"
        raise RuleError("conflicting_input", message, param=given[-1])


def _check_rank_fields(names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        if name != "text":
            param = f"rank_fields[{index}]"
            message = f"`{param}`: expected text, got another name; documents have no other field to be ranked by"
            raise RuleError("invalid_request", message, param=param)


def _check_raw(request: RerankRequest | CohereRerankRequest | AnyRerankRequest | ScoreRequest) -> None:
    if request.raw_scores is not None and request.raw_scores == request.use_activation:
        message = "`raw_scores` and `use_activation` contradict each other; one is true where the other is false"
        raise RuleError("conflicting_input", message, param="use_activation")


def _check_items(items: Sequence[RerankInput], name: str) -> None:
    for index, item in enumerate(items):
        if not isinstance(item, str):
            _check_item(item, f"{name}[{index}]", index)


def _check_item(item: RerankInput, param: str, index: int | None = None) -> None:
    if not isinstance(item, RerankItem):
        return
    given = [name for name in _TOGETHER if getattr(item, name) is not None]
    if bool(given) == (item.content is not None):
        got = " and ".join(f"`{name}`" for name in (*given, "content")) if given else "none"
        code: ErrorCode = "conflicting_input" if given else "missing_input"
        message = f"`{param}`: expected `content`, or of `text`, `image` and `video` one or several, got {got}"
        raise RuleError(code, message, param=param, index=index)
