"""The second stage: documents in the order of their relevance, scores of pairs, and what clients of TEI ask."""

from typing import assert_type

from cenote_client import (
    CohereRerankRequest,
    EmbeddingsApi,
    ModelsApi,
    RerankItem,
    RerankRequest,
    RerankResponse,
    ScoreRequest,
    ScoreResponse,
    ScoresApi,
    TeiEmbedRequest,
    TeiInfo,
)
from usage.vectors import assert_close, fused

QUERY = RerankItem(text="a red circle")


def rerank_gives_the_scores(api: ScoresApi, image: str) -> None:
    documents = [RerankItem(text="a green triangle"), QUERY, RerankItem(content=fused(image))]
    scored = api.create_score(ScoreRequest(queries=[QUERY], documents=documents))
    assert_type(scored, ScoreResponse)
    scores = [one.score for one in scored.data if one.score is not None]
    answer = api.create_rerank(RerankRequest(query=QUERY, documents=documents))
    assert_type(answer, RerankResponse)
    assert_type(answer.results[0].index, int)
    falling = [one.relevance_score for one in answer.results]
    assert falling == sorted(falling, reverse=True)
    assert_close(falling, [scores[one.index] for one in answer.results])
    best = api.rerank_v2(CohereRerankRequest(query=QUERY, documents=documents, top_n=1))
    assert [one.index for one in best.results] == [answer.results[0].index]


def tei_is_answered(embeddings: EmbeddingsApi, models: ModelsApi) -> None:
    vectors = embeddings.embed_tei(TeiEmbedRequest(inputs=["a red circle", ""]))
    assert_type(vectors, list[list[float]])
    assert len(vectors) == 2
    info = models.get_info()
    assert_type(info, TeiInfo)
    assert info.model_type.embedding is not None
