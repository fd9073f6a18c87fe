"""`GET /v1/models` and `GET /v1/models/{id}`: what is served, with the resolved plan."""

from collections.abc import Sequence

import msgspec
from litestar import MediaType, Response

from schemas.endpoints.models import ModelCard, ModelList
from schemas.limits import MAX_IMAGES, MAX_INPUTS, MAX_PARTS_PER_INPUT
from service.checkpoint.hub import BUILTIN, PURPOSES
from service.errors import NotFoundError
from service.front.serving.model_serving import Online
from service.front.serving.serving import Serving, named, not_served, serving_of
from service.http.examples import COLORS, QUERY, example, sample
from service.http.request import AnyRequest
from service.http.route import KEY_STATUSES, Route, read
from service.media.video.video_rule import VideoRule


@read("/v1/models")
async def list_models(request: AnyRequest) -> Response[bytes]:
    """Each name under which the model answers."""
    serving = serving_of(request.app)
    cards = model_cards(serving)
    return Response(msgspec.json.encode(ModelList(data=cards, models=cards)), media_type=MediaType.JSON)


@read("/v1/models/{model_id:path}")
async def get_model(request: AnyRequest, model_id: str) -> Response[bytes]:
    """One model; ids of hub models have a slash in them."""
    serving = serving_of(request.app)
    name = model_id.removeprefix("/")
    card = next((one for one in model_cards(serving) if one.id == name), None)
    if card is None:
        models = [online.model for online in serving.all_online()]
        raise NotFoundError("model_not_found", f"the path's model: {not_served(name, models)}")
    return Response(msgspec.json.encode(card), media_type=MediaType.JSON)


def model_cards(serving: Serving) -> list[ModelCard]:
    """One for each name that means a model."""
    every = serving.all_online()
    models = [online.model for online in every]
    cards: list[ModelCard] = []
    for online in every:
        names = [name for name in online.model.names if named(models, name) is online.model]
        cards += [model_card(serving, online, name, names) for name in names]
    return cards


def model_card(serving: Serving, online: Online, name: str, names: Sequence[str]) -> ModelCard:
    """The plan that every request for `name`, which is one of `names`, follows."""
    settings = serving.settings
    model, reader = online.model, online.reader
    offer, profile, rule = model.offer, reader.rules.profile, model.pixel_rule
    video = profile.images.video_rule if profile.images else None
    by_areas = video if type(video) is VideoRule else None
    return ModelCard(
        id=name,
        created=model.created_s,
        owned_by="cenote",
        description=model.purpose,
        name=name,
        endpoints=["rerank"] if offer.is_reranker else ["embed", "rerank"],
        context_length=profile.max_tokens,
        root=model.name,
        aliases=[other for other in names if other != name],
        revision=model.checkpoint.revision,
        scoring=model.own.score_kind(offer),
        outputs=[kind for kind in offer.kinds if kind != "score"],
        pooling=profile.pooling,
        late_chunking=offer.gives_chunks,
        part_orders=["reference", "as_written"] if profile.keeps_order else ["reference"],
        normalize=profile.normalize,
        dimensions=profile.dimensions,
        sparse_dimensions=offer.num_entries if "sparse" in offer.kinds else None,
        looks_queries_up=offer.looks_queries_up,
        max_vectors_per_input=profile.max_tokens if "multi" in offer.kinds else 1,
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
        truncate_long_texts=reader.long_texts,
        min_pixels=rule.min_pixels if rule else None,
        max_pixels=rule.max_pixels if rule else None,
        image_embeds_width=offer.feature_width or None,
        max_inputs=MAX_INPUTS,
        max_parts_per_input=MAX_PARTS_PER_INPUT,
        max_images=MAX_IMAGES,
        max_body_bytes=settings.max_body_bytes,
        max_image_bytes=settings.max_image_bytes,
        max_image_pixels=settings.max_image_pixels,
        max_video_frames=video.max_frames if video else None,
        min_video_frames=by_areas.min_frames if by_areas else None,
        video_fps=by_areas.fps if by_areas else None,
        min_video_frame_pixels=by_areas.min_frame_pixels if by_areas else None,
        max_video_frame_pixels=by_areas.max_frame_pixels if by_areas else None,
        max_video_pixels=by_areas.total_file_pixels if by_areas else None,
        video_size_factor=by_areas.size_factor if by_areas else None,
        max_video_bytes=settings.max_media_bytes if "video" in reader.openers else None,
        max_pdf_bytes=settings.max_media_bytes if "page" in reader.openers else None,
        audio_rate_hz=profile.audios.rule.rate_hz if profile.audios else None,
        max_audio_bytes=settings.max_media_bytes if "audio" in reader.openers else None,
        max_audio_s=settings.max_audio_s if "audio" in reader.openers else None,
        accepts_token_arrays=settings.token_arrays == "accept",  # noqa: S105  # not that kind of token
        fetches_image_urls=settings.fetches_image_urls,
        fingerprint=online.fingerprint,
        dtype=online.engine.dtype,
        device=online.engine.device,
        kernels=online.engine.kernels,
    )


_DEFAULT = "Represent the user's input."

BUILTIN_CARD = sample(
    ModelCard,
    description=PURPOSES[BUILTIN],
    matryoshka_dimensions=[32, 64, 128, 256],
    default_instruction=_DEFAULT,
    input_types={
        "query": QUERY,
        "document": _DEFAULT,
        "colors": COLORS,
        "shapes": "Represent the shapes of the image.",
        "count": "Represent the number of objects in the image.",
        "positions": "Represent the positions of the objects in the image.",
        "search_document": _DEFAULT,
        "search_query": QUERY,
        "classification": _DEFAULT,
        "clustering": _DEFAULT,
        "image": _DEFAULT,
        "passage": _DEFAULT,
    },
    tail_token_ids=[1784],
    max_pixels=16384,
    dtype="float32",
    device="cpu",
    kernels="avx512",
)
"""A test compares it with what the server answers."""

ROUTES = (
    Route(
        list_models,
        "listModels",
        tag="Models",
        summary="The models, with their plans",
        description="Lists the canonical id and its aliases, each with the plan that requests to it follow.",
        response=ModelList,
        error_statuses=KEY_STATUSES,
        response_examples={
            "builtin": example("One model", {"object": "list", "data": [BUILTIN_CARD], "models": [BUILTIN_CARD]})
        },
    ),
    Route(
        get_model,
        "getModel",
        tag="Models",
        summary="One model, with its plan",
        description="The plan: pooling, lengths offered, prompt layout, instructions by name, limits, revision.",
        response=ModelCard,
        error_statuses=(401, 404, *KEY_STATUSES[1:]),
        parameters={"model_id": "The model's id or an alias. It may hold slashes."},
        response_examples={"builtin": example("The built-in model", BUILTIN_CARD)},
    ),
)
