"""Requests as jobs, and jobs as prompts: one prompt per vector, whatever form the request had.

Base64, hashing and tokenizing happen in `InputReader.prompts`, in worker threads for all but a few short texts.
No pixel is decoded here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from schemas.content.file import FilePart
from schemas.content.parts import ImageUrlPart
from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.parsing.reparse import what_is_broken
from service.errors import InputError, ServiceError
from service.fairness.threads import Steps
from service.front.inputs.checking import check_input
from service.front.inputs.conversations import conversation_of, read_conversation
from service.front.inputs.data_uris import is_media_uri
from service.front.inputs.fetching import Fetching, UrlFetch
from service.front.inputs.lengths import CUT_SIDES, embedding_truncation
from service.front.inputs.media_reader import MediaReader, MediaRules
from service.front.inputs.modality import refuse_modality
from service.front.inputs.opening import AudioOpener, FileOpening, PageOpener, VideoOpener
from service.front.inputs.pairs import Query, pair, read_queries, with_short_texts
from service.front.inputs.sources import (
    MAX_GROUP_CHARS,
    embed_inputs,
    embedding_inputs,
    groups,
    line_input,
)
from service.front.inputs.videos import is_file
from service.front.job import Job, JobInput, PromptOptions
from service.front.placed_media import AudioPart, ImagePart, PlacedMedia
from service.front.served_model import ServedModel
from service.front.tenant import Tenant
from service.media.item import TensorDtype
from service.outputs.ask import Asks, needs
from service.outputs.features import FeaturesAsk
from service.outputs.plan import TokenPlan
from service.prompt.conversation import Conversation
from service.prompt.prompt import Placeholder, Prompt
from service.prompt.token_array import TokenArray, build_token_array
from service.prompt.truncation import Truncation


@dataclass(frozen=True, slots=True, kw_only=True)
class InputReader:
    """Reads the inputs of requests for one model.

    Attributes:
        model: whose prompts to build.
        rules: what media are accepted, and how they are read.
        fetching: fetches media by URL; None refuses them.
        videos: opens video files; None refuses them.
        audio: opens audio files; None refuses them.
        pages: opens PDFs; None refuses them.
        max_answer_bytes: most bytes of an answer whose length follows from the tokens: several vectors for each input,
            or features.
    """

    model: ServedModel
    rules: MediaRules
    fetching: Fetching | None = None
    videos: VideoOpener | None = None
    audio: AudioOpener | None = None
    pages: PageOpener | None = None
    max_answer_bytes: int = 0

    def embedding_job(self, request: EmbeddingRequest, asks: Asks, tenant: Tenant) -> Job:
        """The job of a `/v1/embeddings` request.

        Raises:
            InputError: an instruction or a truncation that the model does not take.
        """
        inputs = embedding_inputs(request, self._options(request))
        return Job(
            inputs=inputs,
            truncation=embedding_truncation(request, self.model.profile.max_tokens),
            asks=asks,
            tenant=tenant,
            background=request.image_background,
            per_item=request.on_error == "per_item",
            answer_bytes=len(inputs) * sum(ask.bytes_each for ask in asks),
        )

    def embed_job(self, request: EmbedRequest, instruction: str | None, asks: Asks, tenant: Tenant) -> Job:
        """The job of a `/v2/embed` request.

        Raises:
            InputError: the model takes no instruction.
        """
        self.model.check_instruction(request.instruction)
        limit = request.max_tokens or self.model.profile.max_tokens
        side = CUT_SIDES[request.truncate or "END"]
        options = PromptOptions(instruction, as_written=self.model.keeps_order(request.part_order))
        inputs = embed_inputs(request, options)
        return Job(
            inputs=inputs,
            truncation=Truncation(limit, side, limit_name="max_tokens", how_to_cut="`truncate: END`"),
            asks=asks,
            tenant=tenant,
            background=request.image_background,
            per_item=request.on_error == "per_item",
            answer_bytes=len(inputs) * sum(ask.bytes_each for ask in asks),
        )

    def lines_job(self, lines: Sequence[EmbeddingRequest], asks: Asks, tenant: Tenant) -> Job:
        """The job of some lines of a stream; a line's error stands in its place.

        Args:
            lines: each as a request of one input, alike in everything but that and the instruction.
            asks: what is wanted of each.
            tenant: whose they are.
        """
        return Job(
            inputs=[self._line_input(line, index) for index, line in enumerate(lines)],
            truncation=embedding_truncation(lines[0], self.model.profile.max_tokens),
            asks=asks,
            tenant=tenant,
            background=lines[0].image_background,
            per_item=True,
        )

    def features_job(
        self,
        images: Sequence[ImageUrlPart],
        dtype: TensorDtype,
        tenant: Tenant,
        *,
        per_item: bool,
        background: str | None = None,
    ) -> Job:
        """The job of a `/v1/image_embeds` request: prompts that are nothing but their image, answered with features.

        Raises:
            InputError: the model takes no images.
        """
        if self.model.profile.images is None:
            refuse_modality("images", self.model.profile.modalities, "images")
        ask = FeaturesAsk(dtype=dtype, width=self.model.profile.images.feature_width)
        places = [PlacedMedia(f"images[{i}]", f"images[{i}].image_url", i, part) for i, part in enumerate(images)]
        return Job(
            inputs=[JobInput(place.param, place, (place,)) for place in places],
            truncation=Truncation(self.model.profile.max_tokens),
            asks=(ask,),
            tenant=tenant,
            background=background,
            per_item=per_item,
        )

    def fetch_steps(self, job: Job, media: MediaReader) -> list[UrlFetch | FileOpening]:
        """Return what has to be fetched and opened, in this order, before the media of a job are read."""
        places = [place for one in job.parts for place in one.media]
        steps: list[UrlFetch | FileOpening] = []
        if self.fetching is not None and (fetch := self.fetching.step(media, places, per_item=job.per_item)):
            steps.append(fetch)
        files = [place for place in places if not isinstance(place.part, ImagePart)]  # images are opened when read
        videos = [place for place in files if is_file(place)] if media.video_rule is not None else []
        audio = [place for place in files if isinstance(place.part, AudioPart)] if media.audio_rule is not None else []
        if self.videos is not None and videos:
            steps.append(FileOpening(self.videos, media, videos, job.per_item))
        if self.audio is not None and audio:
            steps.append(FileOpening(self.audio, media, audio, job.per_item))
        pages = [place for place in files if isinstance(place.part, FilePart)] if media.takes_images else []
        if self.pages is not None and pages:
            steps.append(FileOpening(self.pages, media, pages, job.per_item))
        return steps

    def prompts(
        self, job: Job, media: MediaReader | None, part: range | None = None
    ) -> Steps[list[Prompt | ServiceError]]:
        """The prompts of a job, or of a part of it; of a `per_item` job an error stands in the place of its input.

        A step is an input, or several short texts, which cost less together. Of chunks of a text
        a prompt is a window.

        Raises:
            InputError: with the input's index and path, unless the job is `per_item`.
        """
        if job.joins_inputs:
            return (yield from self._windows(job))
        if media is not None and not job.per_item:
            media.check_known(place for one in job.parts for place in one.media)  # all unknown names in one error
        queries = yield from read_queries(job, lambda one, index: self._conversation(job, one, media, index))
        prompts: list[Prompt | ServiceError] = []
        is_picky = any(ask.is_picky for ask in job.asks)
        for group in groups(job.inputs, part):
            made = [None] * len(group) if is_picky else self._texts(job, group)  # they are checked one by one
            for index, prompt in zip(group, made, strict=True):
                prompts.append(self._single(job, media, index, queries) if prompt is None else prompt)
            yield
        return prompts

    def _windows(self, job: Job) -> Steps[list[Prompt | ServiceError]]:
        """The prompts of chunks of one text."""
        texts = [one.source for one in job.inputs if isinstance(one.source, str)]  # all of them
        params = [one.param for one in job.inputs]
        for index, one in enumerate(job.inputs):
            check_input(job, one, None, index, self.model.profile.modalities)
        chunks = self.model.builder.late_chunks(conversation_of(job.inputs[0].options), job.truncation, params)
        for group in groups(job.inputs):
            chunks.add(texts[group.start : group.stop])
            yield
        return list(chunks.prompts())

    def _texts(self, job: Job, group: range) -> Sequence[Prompt | None]:
        """The prompts of plain texts that are made together; None for each that is left to `_prompt`."""
        none = [None] * len(group)
        inputs = job.inputs[group.start : group.stop]
        texts = [one.source for one in inputs if isinstance(one.source, str)]
        if len(texts) < len(inputs) or inputs[0].error is not None or sum(map(len, texts)) > MAX_GROUP_CHARS:
            return none
        if job.queries or inputs[0].options.max_text_tokens is not None:
            return none
        if any(map(is_media_uri, texts)) or (job.per_item and any(what_is_broken(text) is not None for text in texts)):
            return none
        return self.model.builder.plain_texts.build(texts, conversation_of(inputs[0].options), job.truncation)

    def _single(
        self, job: Job, media: MediaReader | None, index: int, queries: Sequence[Query]
    ) -> Prompt | ServiceError:
        try:
            return self._prompt(job, job.inputs[index], media, index, queries)
        except ServiceError as error:
            if not job.per_item:
                raise
            return error.without_frames()

    def _prompt(
        self, job: Job, one: JobInput, media: MediaReader | None, index: int, queries: Sequence[Query]
    ) -> Prompt:
        if isinstance(one.source, TokenArray):
            check_input(job, one, media, index, self.model.profile.modalities)
            model = self.model
            return build_token_array(
                one.source, job.truncation, model.profile, model.num_embedded, param=one.param, index=index
            )
        if needs(job.asks) == "nothing":
            check_input(job, one, media, index, self.model.profile.modalities)
            return self._image_prompt(one, media)
        conversation = self._conversation(job, one, media, index)
        if queries:
            conversation = pair(queries, conversation, index)
        prompt = self.model.builder.build(conversation, job.truncation, param=one.param, index=index)
        for ask in job.asks:
            if ask.is_picky:
                ask.check_prompt(prompt.plan, bool(prompt.placeholders), self.model.offer, one.param, index)
        return prompt

    def _conversation(self, job: Job, one: JobInput, media: MediaReader | None, index: int) -> Conversation:
        check_input(job, one, media, index, self.model.profile.modalities)
        conversation, max_tokens = read_conversation(one, media, index), one.options.max_text_tokens
        return conversation if max_tokens is None else with_short_texts(conversation, max_tokens, self.model.tokenizer)

    def _image_prompt(self, one: JobInput, media: MediaReader | None) -> Prompt:
        assert media is not None  # the input is an image
        assert self.model.profile.images is not None  # `features_job` refuses the others
        (image,) = media.read(one.media[0])
        pads = [self.model.profile.images.image_pad] * image.num_tokens
        return Prompt(TokenPlan(pads), (Placeholder(0, len(pads), image.grid_thw, image),), truncated=False)

    def _options(self, request: EmbeddingRequest) -> PromptOptions:
        if request.instruction is not None:
            self.model.check_instruction(request.instruction)
        return PromptOptions(
            request.instruction,
            None if request.input_type is None else self.model.instruction_of(request.input_type),
            request.add_generation_prompt,
            request.continue_final_message,
            request.add_special_tokens,
            as_written=self.model.keeps_order(request.part_order),
        )

    def _line_input(self, line: EmbeddingRequest, index: int) -> JobInput:
        error: ServiceError | None = None
        try:
            options = self._options(line)
        except InputError as refused:
            options, error = PromptOptions(), refused.without_frames()
        return msgspec.structs.replace(line_input(line, index, options), error=error)
