"""Requests as jobs, and jobs as prompts: one prompt per vector, whatever form the request had.

Base64, hashing and tokenizing happen in `InputReader.prompts`, in worker threads for all but a few short texts.
No pixel is decoded here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from schemas.content.parts import ImageUrlPart
from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.models import LongTexts
from schemas.parsing.reparse import what_is_broken
from service.errors import InputError, ServiceError
from service.fairness import Steps
from service.front.inputs.checking import FIRST_CHARS, broken_text, refuse_media_uris, refuse_modality, uri_kind
from service.front.inputs.conversations import read_conversation
from service.front.inputs.fetching import Fetching, FetchStep
from service.front.inputs.media_reader import MediaReader, MediaRules
from service.front.inputs.media_strings import with_media_strings
from service.front.inputs.opening import FileKind, Opener, file_kind, open_files
from service.front.inputs.pairs import Query, pair, read_queries, with_short_texts
from service.front.inputs.sources import (
    CUT_SIDES,
    MAX_GROUP_CHARS,
    embed_inputs,
    embedding_inputs,
    embedding_truncation,
    groups,
    line_input,
)
from service.front.job import ImagePart, Job, JobInput, PlacedMedia, PromptOptions
from service.front.served_model import ServedModel
from service.front.tenant import Tenant
from service.media.fetch.policy import FetchPolicy
from service.outputs.ask import Asks
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
        openers: open files of the kinds that the model takes; of others they are refused.
        max_answer_bytes: most bytes of an answer whose length follows from the tokens: several vectors for each input,
            or features.
        long_texts: what is done with a text over the model's limit where a request of `/v1/embeddings` does not say.
    """

    model: ServedModel
    rules: MediaRules
    fetching: Fetching | None = None
    openers: Mapping[FileKind, Opener] = field(default_factory=dict)
    max_answer_bytes: int = 0
    long_texts: LongTexts = "refuse"

    def embedding_job(self, request: EmbeddingRequest, asks: Asks, tenant: Tenant) -> Job:
        """The job of a `/v1/embeddings` request.

        Raises:
            InputError: an instruction or a truncation that the model does not take.
        """
        inputs = embedding_inputs(request, self._options(request))
        return Job(
            inputs=inputs,
            truncation=embedding_truncation(request, self.model.profile.max_tokens, self.long_texts),
            asks=asks,
            tenant=tenant,
            background=request.image_background or "",
            per_item=request.on_error == "per_item",
            answer_bytes=len(inputs) * sum(ask.bytes_each for ask in asks),
        )

    def embed_job(self, request: EmbedRequest, instruction: str | None, asks: Asks, tenant: Tenant) -> Job:
        """The job of a `/v2/embed` request.

        Raises:
            InputError: the model takes no instruction.
        """
        self.model.check_instruction(request.instruction or "")
        if request.part_order == "as_written":
            self.model.check_order()
        limit = request.max_tokens or self.model.profile.max_tokens
        side = CUT_SIDES[request.truncate or "END"]
        options = PromptOptions(Conversation(instruction), as_written=request.part_order == "as_written")
        inputs = embed_inputs(request, options)
        return Job(
            inputs=inputs,
            truncation=Truncation(limit, side, limit_name="max_tokens", how_to_cut="`truncate: END`"),
            asks=asks,
            tenant=tenant,
            background=request.image_background or "",
            per_item=request.on_error == "per_item",
            answer_bytes=len(inputs) * sum(ask.bytes_each for ask in asks),
        )

    def lines_job(self, lines: Sequence[EmbeddingRequest], asks: Asks, tenant: Tenant) -> Job:
        """The job of some lines of a stream; a line's error stands in its place.

        Args:
            lines: each as a request of one input, alike in everything but that and the instruction.
            asks: what is wanted of each.
        """
        return Job(
            inputs=[self._line_input(line, index) for index, line in enumerate(lines)],
            truncation=embedding_truncation(lines[0], self.model.profile.max_tokens, self.long_texts),
            asks=asks,
            tenant=tenant,
            background=lines[0].image_background or "",
            per_item=True,
        )

    def features_job(
        self, images: Sequence[ImageUrlPart], asks: Asks, tenant: Tenant, *, per_item: bool, background: str
    ) -> Job:
        """The job of a `/v1/image_embeds` request: prompts that are nothing but their image, answered with features.

        Raises:
            InputError: the model takes no images.
        """
        if self.model.profile.images is None:
            refuse_modality("images", self.model.profile.modalities, "images")
        places = [PlacedMedia(f"images[{i}]", f"images[{i}].image_url", i, part) for i, part in enumerate(images)]
        return Job(
            inputs=[JobInput(place.param, place, (place,)) for place in places],
            truncation=Truncation(self.model.profile.max_tokens),
            asks=asks,
            tenant=tenant,
            background=background,
            per_item=per_item,
        )

    def fetch_steps(self, media: MediaReader, places: Sequence[PlacedMedia], *, per_item: bool) -> list[FetchStep]:
        """Return what has to be fetched and opened, in this order, before the media of a job are read."""
        steps: list[FetchStep] = []
        if self.fetching is not None and (fetch := self.fetching.step(media, places, per_item=per_item)):
            steps.append(fetch)
        files = [place for place in places if not isinstance(place.part, ImagePart)]  # images are opened when read
        for kind, opener in self.openers.items() if files else ():
            if own := [place for place in files if file_kind(place) == kind]:
                steps.append(partial(open_files, opener, media, own, per_item))
        return steps

    def with_media_strings(self, job: Job) -> Job:
        """The job with its strings that are a medium as that medium; chunks of one text are texts alone.

        Raises:
            InputError: the model does not take it, unless the job is `per_item`.
        """
        if job.asks and job.asks[0].joins_inputs:
            return job
        policy = self.fetching.policy_of_texts if self.fetching else FetchPolicy()
        return with_media_strings(job, self.model.profile.modalities, policy)

    def prompts(self, job: Job, media: MediaReader, part: range) -> Steps[list[Prompt | ServiceError]]:
        """The prompts of a part of a job's inputs; of a `per_item` job an error stands in the place of its input.

        A step is an input, or several short texts, which cost less together. Of chunks of a text
        a prompt is a window.

        Raises:
            InputError: with the input's index and path, unless the job is `per_item`.
        """
        if job.asks[0].joins_inputs:
            return (yield from self._windows(job, media))
        if not job.per_item and (places := [place for one in (*job.queries, *job.inputs) for place in one.media]):
            media.check_known(places)  # all unknown names in one error
        queries: list[Query] = []
        if job.queries:
            queries = yield from read_queries(job, lambda one, index: self._conversation(job, one, media, index))
        picky = [ask for ask in job.asks if ask.is_picky]
        prompts: list[Prompt | ServiceError] = []
        for group in groups(job.inputs, part):
            made: Sequence[Prompt | None] = [None] * len(group)
            if not job.queries and isinstance(job.inputs[group.start].source, str):
                made = self._texts(job, job.inputs[group.start : group.stop])
            for index, prompt in zip(group, made, strict=True):
                one = job.inputs[index]
                try:
                    prompt = prompt or self._prompt(job, one, media, index, queries)
                    for ask in picky:
                        ask.check_prompt(prompt.plan, bool(prompt.placeholders), self.model.offer, one.param, index)
                    prompts.append(prompt)
                except ServiceError as error:
                    if not job.per_item:
                        raise
                    prompts.append(error.without_frames())
            yield
        return prompts

    def _windows(self, job: Job, media: MediaReader) -> Steps[list[Prompt | ServiceError]]:
        """The prompts of chunks of one text."""
        texts = [one.source for one in job.inputs if isinstance(one.source, str)]  # all of them
        params = [one.param for one in job.inputs]
        for index, one in enumerate(job.inputs):
            self._check(job, one, media, index)
        chunks = self.model.builder.late_chunks(job.inputs[0].options.like, job.truncation, params)
        for group in groups(job.inputs, range(len(texts))):
            chunks.add(texts[group.start : group.stop])
            yield
        return list(chunks.prompts())

    def _texts(self, job: Job, inputs: Sequence[JobInput]) -> Sequence[Prompt | None]:
        """The prompts of plain texts that are made together; None for each that is left to `_prompt`."""
        texts, options = [one.source for one in inputs if isinstance(one.source, str)], inputs[0].options
        if (
            sum(map(len, texts)) > MAX_GROUP_CHARS
            or options.max_text_tokens
            or any(text[:1] in FIRST_CHARS and uri_kind(text) for text in texts)
            or (job.per_item and any(what_is_broken(text) is not None for text in texts))
        ):
            return [None] * len(inputs)
        return self.model.builder.plain_texts.build(texts, options.like, job.truncation)

    def _prompt(self, job: Job, one: JobInput, media: MediaReader, index: int, queries: Sequence[Query]) -> Prompt:
        if isinstance(one.source, TokenArray):
            self._check(job, one, media, index)
            model = self.model
            return build_token_array(
                one.source, job.truncation, model.profile, model.num_embedded, param=one.param, index=index
            )
        if job.asks[0].needs == "nothing":  # features, which are asked for alone
            self._check(job, one, media, index)
            assert self.model.profile.images is not None  # `features_job` refuses the others
            (image,) = media.read(one.media[0])
            pads = [self.model.profile.images.image_pad] * image.num_tokens
            return Prompt(TokenPlan(pads), (Placeholder(0, len(pads), image.grid_thw, image),), truncated=False)
        conversation = self._conversation(job, one, media, index)
        if queries:
            conversation = pair(queries, conversation, index)
        return self.model.builder.build(conversation, job.truncation, param=one.param, index=index)

    def _conversation(self, job: Job, one: JobInput, media: MediaReader, index: int) -> Conversation:
        self._check(job, one, media, index)
        conversation, most = read_conversation(one, media, index), one.options.max_text_tokens
        return with_short_texts(conversation, most, self.model.tokenizer) if most else conversation

    def _check(self, job: Job, one: JobInput, media: MediaReader, index: int) -> None:
        """Raise what is wrong with an input, but for what has been checked for all together.

        Raises:
            ServiceError: a text that is not Unicode or is a medium's data URI, or a name that is not known; or the
                error that it was made with.
        """
        if isinstance(one.source, ServiceError):
            raise one.source
        if job.per_item:
            if broken := broken_text(one.source, one.param, index):
                raise broken
            if one.media:
                media.check_known(one.media)
        refuse_media_uris(one.source, self.model.profile.modalities, one.param, index)

    def _options(self, request: EmbeddingRequest) -> PromptOptions:
        instruction, as_written = request.instruction, request.part_order == "as_written"
        if is_named := instruction is None:
            instruction = None if request.input_type is None else self.model.instruction_of(request.input_type)
        else:
            self.model.check_instruction(instruction)
        if as_written:
            self.model.check_order()
        like = Conversation(
            instruction,
            add_generation_prompt=request.add_generation_prompt,
            continue_final_message=request.continue_final_message or False,
            add_special_tokens=request.add_special_tokens,
        )
        return PromptOptions(like, is_named, as_written=as_written)

    def _line_input(self, line: EmbeddingRequest, index: int) -> JobInput:
        """The input of a line; an error that it has before it is read is its source."""
        try:
            return line_input(line, index, self._options(line))
        except InputError as refused:
            one = line_input(line, index, PromptOptions())
            return JobInput(one.param, (broken_text(one.source, one.param, index) or refused).without_frames())
