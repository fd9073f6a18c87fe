"""`GET /v1/models`: each model with its resolved plan: pooling, lengths, prompt layout, limits."""

from typing import Annotated, Literal

from msgspec import Meta

from schemas.base import Answer
from schemas.endpoints import model_videos as videos
from schemas.fields import Fingerprint, PartOrdersField

Pooling = Literal["last_token", "mean", "cls", "multi_vector", "splade"]
"""Pooling of the hidden states of all tokens into one vector; `multi_vector`: none, each token has its own;
`splade`: none, the logits of a masked language model weigh the vocabulary's entries."""

Modality = Literal["text", "image", "video", "audio"]
"""Kind of content that an item may hold."""

CohereEndpoint = Literal["embed", "rerank"]
"""An endpoint of Cohere's API that a model serves."""

ScoreKind = Literal["cosine", "max_sim", "mean_max_sim", "sigmoid", "logit", "dot"]
"""Meaning of a model's scores: see `scoring` of its card."""

LongTexts = Literal["refuse", "end"]
"""What is done with a text over a model's limit: it is refused, or its end is cut off."""

InputTypes = dict[str, str]
"""Instruction by name, for `input_type`."""


class ModelCard(Answer, frozen=True, kw_only=True):
    """One model: OpenAI's four fields, and the resolved plan."""

    id: Annotated[str, Meta(description="The name to send as `model`.", examples=["builtin"])]
    object: Annotated[Literal["model"], Meta(description="Always `model`.", examples=["model"])] = "model"
    created: Annotated[
        int,
        Meta(
            description="When the model was loaded, in seconds since 1970.",
            extra_json_schema={"format": "int64"},
            examples=[1790000000],
        ),
    ]
    owned_by: Annotated[str, Meta(description="Who serves it: `cenote`.", examples=["cenote"])]
    description: Annotated[
        str,
        Meta(description="What the model is for, in a few words.", examples=["search over English texts of your own"]),
    ]
    name: Annotated[str, Meta(description="The same as `id`, under Cohere's name.", examples=["builtin"])]
    endpoints: Annotated[
        list[CohereEndpoint],
        Meta(description="What Cohere's client may ask of the model.", examples=[["embed", "rerank"]]),
    ]
    context_length: Annotated[int, Meta(description="The same as `max_tokens`, under Cohere's name.", examples=[8192])]
    root: Annotated[
        str,
        Meta(
            description="The canonical id that this entry stands for; an alias has another `id`.", examples=["builtin"]
        ),
    ]
    aliases: Annotated[list[str], Meta(description="Other names that requests may use.", examples=[["builtin-embed"]])]
    revision: Annotated[
        str | None, Meta(description="Commit of the weights; null for a local folder without one.", examples=[None])
    ]
    fingerprint: Fingerprint
    scoring: Annotated[
        ScoreKind,
        Meta(
            description="What the scores of `/v1/rerank`, `/v2/rerank`, `/rerank` and `/score` are. `cosine`: of the "
            "two vectors. `max_sim`: the sum, over the query's vectors, of the largest product with a vector of the "
            "document. `mean_max_sim`: the same divided by their number. `sigmoid` and `logit`: of a reranker, which "
            "reads both together and gives no vectors; `sigmoid` is between 0 and 1, of the logit that `raw_scores` "
            "asks for. `dot`: the sum of products of equal indices, of a model whose vectors are sparse, or whose "
            "files say `similarity_fn_name: dot`.",
            examples=["cosine"],
        ),
    ]
    outputs: Annotated[
        list[str],
        Meta(
            description="The kinds of vector that `/v2/embed` gives, its own first: `dense` by `embedding_types` such "
            "as `float` and `int8`, `sparse` by `sparse`, `multi` (a vector for each token) by those with `multi_`. "
            "One request may ask for all of them. Empty of a reranker.",
            examples=[["dense"]],
        ),
    ]
    pooling: Annotated[
        Pooling,
        Meta(
            description="How the hidden states of all tokens are pooled into one vector. `multi_vector`: they are not, "
            "and each token has its own (late interaction), which `/v2/embed` answers with the `multi_` types. "
            "`splade`: the logits of a masked language model become a sparse vector.",
            examples=["last_token"],
        ),
    ]
    late_chunking: Annotated[
        bool,
        Meta(
            description="Whether `/v1/embeddings` takes `late_chunking`: of dense models that pool by the mean.",
            examples=[False],
        ),
    ]
    part_orders: PartOrdersField
    normalize: Annotated[bool, Meta(description="Whether vectors have length 1.", examples=[True])]
    dimensions: Annotated[
        int,
        Meta(
            description="Length of a vector when the request names none; of sparse vectors alone the number of entries "
            "that one could have.",
            examples=[256],
        ),
    ]
    sparse_dimensions: Annotated[
        int | None,
        Meta(
            description="Number of entries that a sparse vector could have, for stores that want it: every index is "
            "below it. Null of a model without sparse vectors.",
            examples=[None],
        ),
    ]
    looks_queries_up: Annotated[
        bool,
        Meta(
            description="Whether a query's sparse vector is weights of a table, without a forward. Of a text without "
            "`input_type` `/v2/embed` gives a document's and warns; `/embed_sparse` needs `prompt_name`.",
            examples=[False],
        ),
    ]
    max_vectors_per_input: Annotated[
        int,
        Meta(
            description="Most vectors per item: 1, or with `multi_vector` one for each token of its prompt.",
            examples=[1],
        ),
    ]
    min_dimensions: Annotated[int, Meta(description="The shortest vector that a request may ask for.", examples=[32])]
    matryoshka_dimensions: Annotated[
        list[int] | None,
        Meta(
            description="The lengths that a request may ask for; null if all from `min_dimensions` up are allowed.",
            examples=[None],
        ),
    ]
    calibrated_dimensions: Annotated[
        list[int],
        Meta(
            description="Lengths for which `int8` and `uint8` use the checkpoint's range of each component; all others "
            "use the fixed range of plus and minus 4/√length. A range never depends on the request.",
            examples=[[32, 64, 128, 256]],
        ),
    ]
    modalities: Annotated[
        list[Modality], Meta(description="What an item may hold.", examples=[["text", "image", "video"]])
    ]
    prompt_format: Annotated[
        str, Meta(description="Name of the layout that turns an item into a prompt.", examples=["qwen3-vl-embedding"])
    ]
    default_instruction: Annotated[
        str | None,
        Meta(
            description="The instruction of a request that names none; null when there is none.",
            examples=["Represent the user's input."],
        ),
    ]
    takes_instructions: Annotated[
        bool, Meta(description="Whether `instruction` is taken; if not, it is refused.", examples=[True])
    ]
    input_types: Annotated[
        InputTypes,
        Meta(
            description="The `input_type` names of `/v2/embed`, with instructions.",
            examples=[{"search_query": "Retrieve images or text relevant to the user's query."}],
        ),
    ]
    mixes_modalities: Annotated[
        bool,
        Meta(
            description="Whether one item may hold text and images together; a model with one tower for each takes "
            "either.",
            examples=[True],
        ),
    ]
    tail_token_ids: Annotated[
        list[int],
        Meta(
            description="The last token ids of every prompt. The last token's hidden state becomes the vector.",
            examples=[[151643]],
        ),
    ]
    max_tokens: Annotated[
        int, Meta(description="Most tokens of one item, template and images included.", examples=[8192])
    ]
    truncate_long_texts: Annotated[
        LongTexts,
        Meta(
            description="What `/v1/embeddings`, its stream and `/tokenize` do with a text over `max_tokens` when the "
            "request does not say: `refuse`, or cut off its `end`. The server's `--truncate-long-texts`.",
            examples=["refuse"],
        ),
    ]
    min_pixels: Annotated[
        int | None, Meta(description="An image with fewer pixels is enlarged; null for text models.", examples=[4096])
    ]
    max_pixels: Annotated[
        int | None, Meta(description="An image with more pixels is shrunk; null for text models.", examples=[1843200])
    ]
    image_embeds_width: Annotated[
        int | None,
        Meta(
            description="Length of one visual token's features in `image_embeds` parts; null for text models.",
            examples=[768],
        ),
    ]
    max_inputs: Annotated[
        int,
        Meta(
            description="Most inputs of one request for vectors or tokens, and most documents of one for scores.",
            examples=[2048],
        ),
    ]
    max_parts_per_input: Annotated[
        int, Meta(description="Most content parts of one message or one item of `inputs`.", examples=[32])
    ]
    max_images: Annotated[int, Meta(description="Most images of one `/v1/image_embeds` request.", examples=[64])]
    max_body_bytes: Annotated[
        int,
        Meta(
            description="Largest request body, in bytes.",
            extra_json_schema={"format": "int64"},
            examples=[33554432],
        ),
    ]
    max_image_bytes: Annotated[
        int,
        Meta(
            description="Largest encoded image, in bytes.",
            extra_json_schema={"format": "int64"},
            examples=[20971520],
        ),
    ]
    max_image_pixels: Annotated[
        int,
        Meta(
            description="Largest image as sent, in pixels, before it is resized to `min_pixels` and `max_pixels`.",
            extra_json_schema={"format": "int64"},
            examples=[33200000],
        ),
    ]
    max_video_frames: videos.MaxVideoFrames
    min_video_frames: videos.MinVideoFrames
    video_fps: videos.VideoFps
    min_video_frame_pixels: videos.MinVideoFramePixels
    max_video_frame_pixels: videos.MaxVideoFramePixels
    max_video_pixels: videos.MaxVideoPixels
    video_size_factor: videos.VideoSizeFactor
    max_video_bytes: videos.MaxVideoBytes
    max_pdf_bytes: Annotated[
        int | None,
        Meta(
            description="Largest PDF of which a page is taken, in bytes; null where none is: the model takes no "
            "images, or the server lacks its extra `pdf`.",
            extra_json_schema={"format": "int64"},
            examples=[67108864],
        ),
    ]
    audio_rate_hz: Annotated[
        int | None,
        Meta(
            description="Sample rate that audio is resampled to, in Hz; null for models that take none.",
            examples=[None],
        ),
    ]
    max_audio_bytes: Annotated[
        int | None,
        Meta(
            description="Largest audio file, in bytes; null where audio is not taken: the model takes none, or the "
            "server lacks its extra `audio`.",
            extra_json_schema={"format": "int64"},
            examples=[None],
        ),
    ]
    max_audio_s: Annotated[
        float | None,
        Meta(
            description="Longest audio, in seconds; null as above. How much of it is read depends on the model.",
            examples=[None],
        ),
    ]
    accepts_token_arrays: Annotated[
        bool, Meta(description="Whether `input` of `/v1/embeddings` may hold token ids.", examples=[False])
    ]
    fetches_image_urls: Annotated[
        bool,
        Meta(description="Whether `http` and `https` URLs of images are fetched; if not, send data.", examples=[False]),
    ]
    dtype: Annotated[str, Meta(description="Number format the model computes in.", examples=["bfloat16"])]
    device: Annotated[str, Meta(description="Where the model computes: `cpu`, `cuda:0`.", examples=["cuda:0"])]
    kernels: Annotated[
        str,
        Meta(
            description="On a processor, the instructions that kernels run by, why not others, and what is slow there, "
            "in words; else empty.",
            examples=["avx512"],
        ),
    ]


class ModelList(Answer, frozen=True, kw_only=True):
    """The models that requests may name: every canonical id and every alias."""

    object: Annotated[Literal["list"], Meta(description="Always `list`.")] = "list"
    data: Annotated[list[ModelCard], Meta(description="The models.")]
    models: Annotated[list[ModelCard], Meta(description="The same list, under the name that Cohere's client reads.")]
