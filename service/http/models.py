"""`GET /v1/models` and `GET /v1/models/{id}`: what is served, with the resolved plan."""

import msgspec
from litestar import MediaType, Response, get

from schemas.models import ModelCard, ModelList
from service.errors import NotFoundError
from service.front.served_model import ServedModel
from service.front.serving import Online, serving_of
from service.http.errors import AnyRequest


@get("/v1/models")
async def list_models(request: AnyRequest) -> Response[bytes]:
    """Each name under which the model answers."""
    online = serving_of(request.app).online()
    cards = [model_card(online, name) for name in online.model.names]
    return Response(msgspec.json.encode(ModelList(data=cards)), media_type=MediaType.JSON)


@get("/v1/models/{model_id:path}")
async def get_model(request: AnyRequest, model_id: str) -> Response[bytes]:
    """One model; ids of hub models have a slash in them."""
    online = serving_of(request.app).online()
    name = model_id.removeprefix("/")
    if name not in online.model.names:
        raise NotFoundError(
            "model_not_found", f"no model of that name is served here; served: {', '.join(online.model.names)}"
        )
    return Response(msgspec.json.encode(model_card(online, name)), media_type=MediaType.JSON)


def model_card(online: Online, name: str) -> ModelCard:
    """The plan that every request for `name` follows."""
    model: ServedModel = online.model
    profile = model.profile
    return ModelCard(
        id=name,
        created=model.created_s,
        owned_by="cenote",
        root=model.name,
        aliases=[other for other in model.names if other != name],
        revision=model.checkpoint.revision,
        pooling=profile.pooling,
        normalize=profile.normalize,
        dimensions=profile.dimensions,
        min_dimensions=profile.matryoshka[0] if profile.matryoshka else profile.min_dimensions,
        matryoshka_dimensions=list(profile.matryoshka) if profile.matryoshka else None,
        calibrated_dimensions=sorted(model.int8_ranges),
        modalities=list(profile.modalities),
        prompt_format=profile.name,
        default_instruction=profile.default_instruction,
        input_types=dict(profile.input_types),
        tail_token_ids=list(model.tokenizer.tail_token_ids),
        max_tokens=profile.max_tokens,
        min_pixels=profile.pixel_rule.min_pixels,
        max_pixels=profile.pixel_rule.max_pixels,
        dtype=online.engine.dtype,
        device=online.engine.device,
    )
