"""From a decoded request to prompts: one conversation per vector, whatever form the request took.

Runs in worker threads, an input a step: base64, hashing and tokenizing all happen here, and no pixel is decoded.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from schemas.embed import EmbedRequest
from schemas.embeddings import EmbeddingRequest, Truncate
from service.errors import InputError, ServiceError
from service.fairness.threads import Steps
from service.front.clips import ClipOpener
from service.front.conversations import embed_conversation, embedding_conversation
from service.front.fetching import Fetching, FetchStep
from service.front.job import Answered, Embedded, Job
from service.front.pictures import PictureReader
from service.front.place import Place
from service.front.served_model import ServedModel
from service.front.sounds import SoundOpener
from service.front.sources import (
    Source,
    check_texts,
    embed_sources,
    embedding_sources,
    is_short,
    line_source,
    num_chars,
    places_of,
)
from service.front.tenant import Tenant
from service.front.uuids import UuidStore
from service.ipc.messages import OutputSpec
from service.media.features import FeatureRule
from service.media.fetch.exchange import Take
from service.media.header import DecodeLimits
from service.media.local_file import LocalFiles
from service.media.reading import AS_REFERENCE, Reading, parse_color
from service.media.video_rule import VideoRule
from service.prompt.conversation import Conversation
from service.prompt.prompt import Prompt
from service.prompt.token_array import TokenArray, build_token_array
from service.prompt.truncation import Side, Truncation

CUT_SIDES: dict[Truncate, Side | None] = {"NONE": None, "START": "left", "END": "right"}
"""Cohere's `truncate`: which end of a text goes away; None is an error instead."""

Read = Callable[[PictureReader, Source, str, int], Conversation]
"""A source with its path and index as a conversation."""


@dataclass(frozen=True, slots=True)
class InputReader:
    """Reads the inputs of requests for one model.

    Attributes:
        model: whose prompts to build.
        limits: what pictures are refused.
        uuids: what clients' names for pictures stand for.
        features: what features sent in place of pictures must look like.
        reading: how files are read where a request does not say.
        fetching: brings in pictures by URL; None refuses them.
        local_files: reads `file:` URLs; None refuses them.
        video_rule: which frames of a video are seen; None refuses videos.
        clips: opens video files; None refuses them.
        sounds: opens sounds; None refuses them.
    """

    model: ServedModel
    limits: DecodeLimits
    uuids: UuidStore
    features: FeatureRule
    reading: Reading = AS_REFERENCE
    fetching: Fetching | None = None
    local_files: LocalFiles | None = None
    video_rule: VideoRule | None = None
    clips: ClipOpener | None = None
    sounds: SoundOpener | None = None

    def pictures(self, tenant: Tenant, background: str | None = None) -> PictureReader:
        """A reader for the pictures of one request of a tenant, over the request's own background if it has one."""
        return PictureReader(
            self.model.pixel_rule,
            self.features,
            self.limits,
            self.uuids,
            tenant.uuid_scope,
            self.local_files,
            salt=tenant.salt,
            reading=self.reading,
            background=None if background is None else parse_color(background),
            modalities=self.model.profile.modalities,
            video_rule=self.video_rule,
            sound_rule=self.model.profile.sounds.rule if self.model.profile.sounds else None,
        )

    def fetch_step(self, pictures: PictureReader, places: Iterable[Place], *, per_item: bool) -> FetchStep | None:
        """What a job fetches and opens before its `prepare`: see the steps of those who bring."""
        listed = list(places)
        brings = (self.fetching, self.clips, self.sounds)
        steps = [one.step(pictures, listed, per_item=per_item) for one in brings if one is not None]
        wanted = [step for step in steps if step is not None]
        return partial(_one_by_one, wanted) if wanted else None

    def embedding_job(self, request: EmbeddingRequest, output: OutputSpec, tenant: Tenant) -> Job:
        """What `/v1/embeddings` wants embedded. Its `prepare` raises InputError with the input's index and path."""
        self.model.check_instruction(request.instruction)
        named = self.model.instruction_of(request.input_type)
        truncation = embedding_truncation(request, self.model.profile.max_tokens)
        read = partial(embedding_conversation, request, named)
        pictures = self.pictures(tenant, request.image_background)
        longest = request.instruction or named
        job = partial(self._job, embedding_sources(request), longest, read, truncation, output, pictures)
        return job(per_item=request.on_error == "per_item")

    def embed_job(self, request: EmbedRequest, instruction: str | None, output: OutputSpec, tenant: Tenant) -> Job:
        """What `/v2/embed` wants embedded. Its `prepare` raises InputError with the input's index and path."""
        self.model.check_instruction(instruction)
        limit = request.max_tokens or self.model.profile.max_tokens
        side = CUT_SIDES[request.truncate or "END"]
        truncation = Truncation(limit, side, limit_name="max_tokens", how_to_cut="`truncate: END`")
        read = partial(embed_conversation, instruction)
        pictures = self.pictures(tenant, request.image_background)
        job = partial(self._job, embed_sources(request), instruction, read, truncation, output, pictures)
        return job(per_item=request.on_error == "per_item")

    def lines_job(self, lines: Sequence[EmbeddingRequest], output: OutputSpec, tenant: Tenant) -> Job:
        """What some lines of a stream want embedded; a line's error stands in its place.

        Args:
            lines: each as a request of one input, alike in everything but that and the instruction.
            output: what is wanted of each.
            tenant: whose they are.
        """
        truncation = embedding_truncation(lines[0], self.model.profile.max_tokens)

        def read(pictures: PictureReader, source: Source, param: str, index: int) -> Conversation:
            line = lines[index]
            self.model.check_instruction(line.instruction)
            named = self.model.instruction_of(line.input_type)
            return embedding_conversation(line, named, pictures, source, param, index)

        longest = max((line.instruction or line.input_type or "" for line in lines), key=len)
        pictures = self.pictures(tenant, lines[0].image_background)
        sources = [line_source(line) for line in lines]
        job = self._job(sources, longest, read, truncation, output, pictures, per_item=True)
        return replace(job, is_of_stream=True)

    def _job(
        self,
        sources: Sequence[tuple[str, Source]],
        instruction: str | None,
        read: Read,
        truncation: Truncation,
        output: OutputSpec,
        pictures: PictureReader,
        *,
        per_item: bool,
    ) -> Job:
        places = [place for i, (param, source) in enumerate(sources) for place in places_of(source, param, i)]
        build = self._build_each if per_item else self._build_all
        short = is_short(sources, instruction)
        return Job(
            prepare=partial(build, sources, partial(self._build, pictures, read, truncation), pictures),
            settle=partial(_bind_answered, pictures),
            output=output,
            num_inputs=len(sources),
            fetch=self.fetch_step(pictures, places, per_item=per_item),
            has_media=bool(places),
            num_chars=0 if short else num_chars(sources),
            is_short=short,
            per_item=per_item,
            param_of=lambda index: sources[index][0],
        )

    def _build(
        self, pictures: PictureReader, read: Read, truncation: Truncation, source: Source, param: str, index: int
    ) -> Prompt:
        if isinstance(source, TokenArray):
            return build_token_array(
                source, truncation, self.model.profile, self.model.tokenizer.num_ids, param=param, index=index
            )
        conversation = read(pictures, source, param, index)
        return self.model.builder.build(conversation, truncation, param=param, index=index)

    def _build_all(
        self,
        sources: Sequence[tuple[str, Source]],
        build: Callable[[Source, str, int], Prompt],
        pictures: PictureReader,
    ) -> Steps[list[Prompt]]:
        places = [place for i, (param, source) in enumerate(sources) for place in places_of(source, param, i)]
        pictures.check_known(places)  # all names that are not known, in one error
        prompts = []
        for index, (param, source) in enumerate(sources):
            prompts.append(build(source, param, index))
            yield
        return prompts

    def _build_each(
        self,
        sources: Sequence[tuple[str, Source]],
        build: Callable[[Source, str, int], Prompt],
        pictures: PictureReader,
    ) -> Steps[list[Prompt | ServiceError]]:
        prompts: list[Prompt | ServiceError] = []
        for index, (param, source) in enumerate(sources):
            try:
                check_texts(source, param, index)
                pictures.check_known(places_of(source, param, index))
                prompts.append(build(source, param, index))
            except ServiceError as error:
                prompts.append(error)
            yield
        return prompts


async def _one_by_one(steps: Sequence[FetchStep], take: Take) -> None:
    for step in steps:
        await step(take)


def _bind_answered(pictures: PictureReader, embedded: Embedded) -> None:
    pictures.bind({i for i, outcome in enumerate(embedded.outcomes) if isinstance(outcome, Answered)})


def embedding_truncation(request: EmbeddingRequest, max_tokens: int) -> Truncation:
    """How a request of `/v1/embeddings` wants texts cut.

    Args:
        request: its `truncate_prompt_tokens`, or `truncate` or `truncation`, and `truncation_side` count.
        max_tokens: of the model.

    Raises:
        InputError: more tokens than the model has, or none.
    """
    if request.truncate is not None:
        return Truncation(max_tokens, CUT_SIDES[request.truncate])
    wanted = -1 if request.truncation else request.truncate_prompt_tokens
    if wanted is None:
        return Truncation(max_tokens)
    if wanted > max_tokens or wanted == 0:
        raise InputError(
            "invalid_request",
            f"`truncate_prompt_tokens`: got {wanted}, expected -1 or 1 to the model's {max_tokens} tokens",
            param="truncate_prompt_tokens",
        )
    return Truncation(max_tokens if wanted == -1 else wanted, request.truncation_side or "right")
