"""The second stage: documents in the order of their relevance and scores of pairs, in every form of the routes."""

from typing import assert_type

from cenote_client import AuthenticatedClient
from cenote_client.api.embeddings import embed_tei
from cenote_client.api.models import get_info
from cenote_client.api.scores import create_rerank, create_score, rerank_any, rerank_v2
from cenote_client.models import (
    AnyRerankRequest,
    CohereErrorResponse,
    CohereRerankRequest,
    CohereRerankResponse,
    ErrorBody,
    OnError,
    RerankItem,
    RerankRequest,
    RerankResponse,
    ScoreRequest,
    ScoreResponse,
    TeiEmbedRequest,
    TeiInfo,
    TextRank,
)
from cenote_client.types import Unset
from usage.vectors import assert_close, fused

QUERY = "a red circle"
TEXTS = ["a green triangle", "a red circle", ""]
Documents = list[RerankItem | str]
"""Lists are invariant: both forms stand here."""


def documents_of(image: str) -> Documents:
    """One of each form: a text, an object with a text, with an image, with parts."""
    return [
        "a green triangle",
        RerankItem(text="a red circle"),
        RerankItem(image=image),
        RerankItem(content=fused(image)),
    ]


def ranked_scores(client: AuthenticatedClient, documents: Documents) -> list[tuple[int, float]]:
    """Index and score of each document, the best first."""
    answer = create_score.sync(client=client, body=ScoreRequest(queries=[RerankItem(text=QUERY)], documents=documents))
    assert isinstance(answer, ScoreResponse), answer
    scores = []
    for entry in answer.data:
        assert_type(entry.score, float | None)
        assert entry.score is not None, entry.error
        scores.append((entry.index, entry.score))
    return sorted(scores, key=falling)


def falling(one: tuple[int, float]) -> float:
    return -one[1]


def assert_ranked(got: list[tuple[int, float]], want: list[tuple[int, float]]) -> None:
    assert [index for index, _ in got] == [index for index, _ in want]
    assert_close([score for _, score in got], [score for _, score in want])


def rerank_gives_the_same(client: AuthenticatedClient, image: str) -> None:
    documents = documents_of(image)
    want = ranked_scores(client, documents)
    body = RerankRequest(query=RerankItem(text=QUERY), documents=documents, return_documents=True)
    answer = create_rerank.sync(client=client, body=body)
    assert_type(answer, CohereErrorResponse | RerankResponse | None)
    assert isinstance(answer, RerankResponse), answer
    assert_ranked([(one.index, one.relevance_score) for one in answer.results], want)
    document = answer.results[0].document
    assert not isinstance(document, Unset)
    assert_type(document.text, str)
    assert_type(answer.usage.image_tokens, int)
    cohere = rerank_v2.sync(client=client, body=CohereRerankRequest(query=QUERY, documents=documents, top_n=2))
    assert isinstance(cohere, CohereRerankResponse), cohere
    assert_ranked([(one.index, one.relevance_score) for one in cohere.results], want[:2])
    assert_type(cohere.meta.billed_units.search_units, int)


def tei_gives_the_same(client: AuthenticatedClient) -> None:
    want = ranked_scores(client, [*TEXTS])
    answer = rerank_any.sync(client=client, body=AnyRerankRequest(query=QUERY, texts=[*TEXTS], return_text=True))
    assert isinstance(answer, list), answer
    assert_type(answer, list[TextRank])
    assert_ranked([(one.index, one.score) for one in answer], want)
    assert [one.text for one in answer] == [TEXTS[index] for index, _ in want]
    vectors = embed_tei.sync(client=client, body=TeiEmbedRequest(inputs=TEXTS, prompt_name="query"))
    assert isinstance(vectors, list), vectors
    assert_type(vectors, list[list[float]])
    assert len(vectors) == len(TEXTS)
    info = get_info.sync(client=client)
    assert isinstance(info, TeiInfo), info
    assert_type(info.max_input_length, int)
    assert not isinstance(info.model_type.embedding, Unset)


def errors_of_reranking_are_typed(client: AuthenticatedClient, image: str) -> None:
    documents: Documents = [RerankItem(image="data:image/png;base64,bm90IGEgcGljdHVyZQ=="), RerankItem(image=image)]
    refused = create_rerank.sync(client=client, body=RerankRequest(query=QUERY, documents=documents))
    assert isinstance(refused, CohereErrorResponse), refused
    assert refused.error.index == 0
    assert refused.detail == refused.message
    body = RerankRequest(query=QUERY, documents=documents, on_error=OnError.PER_ITEM)
    answer = create_rerank.sync(client=client, body=body)
    assert isinstance(answer, RerankResponse), answer
    assert_type(answer.errors, list[ErrorBody] | Unset)
    assert not isinstance(answer.errors, Unset)
    assert [(error.index, len(answer.results)) for error in answer.errors] == [(0, 1)]
