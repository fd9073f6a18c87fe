"""`GET /v1/models` and `GET /v1/models/{id}`: what is served, with the resolved plan."""

import msgspec
from litestar import MediaType, Response, get

from schemas.endpoints.models import ModelCard, ModelList
from schemas.limits import MAX_IMAGES, MAX_INPUTS, MAX_PARTS_PER_INPUT
from service.errors import NotFoundError
from service.front.serving.serving import Serving, serving_of
from service.http.request_context import AnyRequest


@get("/v1/models")
async def list_models(request: AnyRequest) -> Response[bytes]:
    """Each name under which the model answers."""
    serving = serving_of(request.app)
    cards = [model_card(serving, name) for name in serving.online().model.names]
    return Response(msgspec.json.encode(ModelList(data=cards, models=cards)), media_type=MediaType.JSON)


@get("/v1/models/{model_id:path}")
async def get_model(request: AnyRequest, model_id: str) -> Response[bytes]:
    """One model; ids of hub models have a slash in them."""
    serving = serving_of(request.app)
    model = serving.online().model
    name = model_id.removeprefix("/")
    if name not in model.names:
        raise NotFoundError("model_not_found", f"the path's model: {model.not_served(name)}")
    return Response(msgspec.json.encode(model_card(serving, name)), media_type=MediaType.JSON)


def model_card(serving: Serving, name: str) -> ModelCard:
    """The plan that every request for `name` follows."""
    online, settings = serving.online(), serving.settings
    model, reader = online.model, online.reader
    profile, rule = model.profile, model.pixel_rule
    return ModelCard(
        id=name,
        created=model.created_s,
        owned_by="cenote",
        name=name,
        endpoints=["embed", "rerank"] if profile.scoring is None else ["rerank"],
        context_length=profile.max_tokens,
        root=model.name,
        aliases=[other for other in model.names if other != name],
        revision=model.checkpoint.revision,
        scoring=model.score_kind,
        pooling=profile.pooling,
        normalize=profile.normalize,
        dimensions=profile.dimensions,
        max_vectors_per_input=profile.max_tokens if model.is_multi_vector else 1,
        min_dimensions=profile.matryoshka[0] if profile.matryoshka else profile.min_dimensions,
        matryoshka_dimensions=list(profile.matryoshka) if profile.matryoshka else None,
        calibrated_dimensions=sorted(model.int8_ranges),
        modalities=list(profile.modalities),
        prompt_format=profile.name,
        default_instruction=profile.default_instruction,
        takes_instructions=profile.takes_instructions,
        input_types=model.input_types,
        mixes_modalities=profile.mixes and len(profile.modalities) > 1,
        tail_token_ids=list(model.tokenizer.tail_token_ids),
        max_tokens=profile.max_tokens,
        min_pixels=rule.min_pixels if rule else None,
        max_pixels=rule.max_pixels if rule else None,
        image_embeds_width=profile.images.feature_width if profile.images else None,
        max_inputs=MAX_INPUTS,
        max_parts_per_input=MAX_PARTS_PER_INPUT,
        max_images=MAX_IMAGES,
        max_body_bytes=settings.max_body_bytes,
        max_image_bytes=settings.max_image_bytes,
        max_image_pixels=settings.max_image_pixels,
        max_video_frames=reader.rules.video_rule.max_frames if reader.rules.video_rule else None,
        max_video_bytes=settings.max_video_bytes if reader.rules.video_rule and reader.videos else None,
        audio_rate_hz=profile.audios.rule.rate_hz if profile.audios else None,
        max_audio_bytes=settings.max_audio_bytes if reader.audio else None,
        max_audio_s=settings.max_audio_s if reader.audio else None,
        accepts_token_arrays=serving.accepts_token_arrays,
        fetches_image_urls=settings.fetches_image_urls,
        fingerprint=online.fingerprint,
        dtype=online.engine.dtype,
        device=online.engine.device,
    )
