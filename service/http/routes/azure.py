"""`POST /openai/deployments/{deployment}/embeddings`, where Azure's clients look for `/v1/embeddings`."""

from litestar import post
from litestar.types import ASGIApp
from msgspec.structs import replace

from schemas.endpoints.azure import AzureQuery
from schemas.endpoints.embeddings import EmbeddingRequest, EmbeddingResponse
from service.http.examples import example
from service.http.request import AnyRequest, Call, reads
from service.http.route import Route
from service.http.routes import embeddings


@post("/openai/deployments/{deployment:str}/embeddings", status_code=200)
async def create_azure_embedding(request: AnyRequest, deployment: str) -> ASGIApp:
    """One vector for each input, of the model that the path names."""

    async def create(call: Call[EmbeddingRequest]) -> ASGIApp:
        return await embeddings.create_embedding(replace(call, body=replace(call.body, model=deployment)))

    return await reads(EmbeddingRequest)(create)(request)


ROUTE = Route(
    create_azure_embedding,
    "createAzureEmbedding",
    takes_timeout=True,
    summary="Vectors in OpenAI's form, where Azure has them",
    description=(
        "`/v1/embeddings` with the model's name in the path, for `AzureOpenAI` of OpenAI's clients, which sends its "
        "key as `api-key`. The name in the path goes before `model` of the body."
    ),
    request=EmbeddingRequest,
    query=AzureQuery,
    response=EmbeddingResponse,
    headers=embeddings.ROUTE.headers,
    parameters={"deployment": "The model's id or an alias."},
    request_examples={"text": example("Two texts", {"input": ["a red bicycle", "a green door"]})},
    response_examples=embeddings.ROUTE.response_examples,
    error_examples=embeddings.ROUTE.error_examples,
)
