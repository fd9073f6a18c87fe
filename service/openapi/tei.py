"""The operations of text-embeddings-inference (TEI), besides its form of `/rerank`."""

from schemas.endpoints.tei import TeiEmbedRequest, TeiInfo, TeiSparseRequest, TeiSparseVectors, TeiVectors
from schemas.errors import CohereErrorResponse
from service.openapi.examples import tei
from service.openapi.parameters import TIMING_HEADERS
from service.openapi.route import KEY_STATUSES, Route

EMBED = Route(
    path="/embed",
    operation_id="embedTei",
    takes_timeout=True,
    summary="Vectors in TEI's form",
    description=(
        "For clients of text-embeddings-inference (TEI), such as `InferenceClient.feature_extraction` of "
        "huggingface_hub and LlamaIndex's `TextEmbeddingsInference`. The answer is a bare list; the vectors are "
        "those of `/v1/embeddings`."
    ),
    request=TeiEmbedRequest,
    response=TeiVectors,
    error=CohereErrorResponse,
    headers=TIMING_HEADERS,
    request_examples=tei.EMBED,
    response_examples=tei.VECTORS,
    error_examples=tei.ERRORS,
)

EMBED_SPARSE = Route(
    path="/embed_sparse",
    operation_id="embedSparseTei",
    takes_timeout=True,
    summary="Sparse vectors in TEI's form",
    description=(
        "Of a model whose `outputs` have `sparse`, such as SPLADE: for each text the entries of the vocabulary that "
        "have a weight. The weights are those of `/v2/embed` with `embedding_types: [sparse]`."
    ),
    request=TeiSparseRequest,
    response=TeiSparseVectors,
    error=CohereErrorResponse,
    headers=TIMING_HEADERS,
    request_examples=tei.EMBED_SPARSE,
    response_examples=tei.SPARSE_VECTORS,
    error_examples=tei.ERRORS,
)

INFO = Route(
    method="GET",
    path="/info",
    operation_id="getInfo",
    tag="Models",
    summary="The model, in TEI's words",
    description="What clients of text-embeddings-inference (TEI) ask before they send; `/v1/models` says more.",
    response=TeiInfo,
    error_statuses=KEY_STATUSES,
    response_examples=tei.INFO,
)
