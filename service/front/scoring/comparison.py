"""A request for scores as plain data, whatever its route, and its job.

For a reranker the job has pairs; for an embedder the documents, and after them the queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from schemas.content.parts import Content, ImageUrlPart, TextPart
from schemas.content.scored import RerankInput, ScoreInput
from schemas.content.video import VideoUrlPart
from schemas.dialects.items import media_parts
from schemas.fields import PartOrder
from service.front.inputs.sources import parts_input, prompt_limit
from service.front.job import Job, JobInput, PlacedMedia, PromptOptions
from service.front.served_model import ServedModel
from service.front.tenant import Tenant
from service.outputs.ask import Wanted
from service.prompt.conversation import Conversation
from service.prompt.truncation import Side as CutSide
from service.prompt.truncation import Truncation

QUERY, DOCUMENT = "search_query", "search_document"
"""The names of an embedder's instructions for both sides: every profile has them."""


class Side(NamedTuple):
    """The queries of a request, or its documents.

    Attributes:
        name: of the field.
        value: what it holds: one item, or a list of them.
        max_text_tokens: most tokens of each text; 0 where there is no such limit.
    """

    name: str
    value: ScoreInput
    max_text_tokens: int = 0

    @property
    def items(self) -> Sequence[RerankInput]:
        """Its items."""
        return self.value if isinstance(self.value, list) else [self.value]

    def inputs(self, options: PromptOptions, first_index: int = 0) -> list[JobInput]:
        """Its items as inputs, whose media count from `first_index`."""
        options = options._replace(max_text_tokens=self.max_text_tokens)
        return [
            self._input(
                item, f"{self.name}[{i}]" if isinstance(self.value, list) else self.name, first_index + i, options
            )
            for i, item in enumerate(self.items)
        ]

    def text(self, index: int) -> str:
        """The texts of an item, joined; empty where it has none."""
        item = self.items[index]
        if isinstance(item, str):
            return item
        if item.content is None:
            return item.text or ""
        if isinstance(item.content, str):
            return item.content
        return "".join(part.text for part in item.content if isinstance(part, TextPart))

    def _input(self, item: RerankInput, param: str, index: int, options: PromptOptions) -> JobInput:
        if isinstance(item, str):
            return JobInput(param, item, (), options)
        if item.content is not None:
            return parts_input(param, Content(content=item.content), index, options)
        parts = media_parts(item)  # `schemas.parsing.score_rules` lets no empty item through
        if len(parts) == 1 and item.text is not None:
            return JobInput(f"{param}.text", item.text, (), options)
        names = {VideoUrlPart: "video", ImageUrlPart: "image"}
        places = [
            PlacedMedia(f"{param}.{names[type(part)]}", f"{param}.{names[type(part)]}", index, part)
            for part in parts
            if isinstance(part, VideoUrlPart | ImageUrlPart)
        ]
        if len(parts) == 1:
            return JobInput(places[0].param, places[0], tuple(places), options)
        return JobInput(param, Content(content=parts), tuple(places), options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Queries and documents to score.

    Attributes:
        queries: one for all documents, or one for each.
        instruction: what makes a document relevant, in the request's words.
        max_prompt_tokens: longest prompt; -1 means the model's limit.
        cut_side: which end of a text is cut; None makes it an error.
        background: the request's color under transparent pixels, as `#rrggbb`; empty for the server's.
        part_order: in which items are read.
        per_item: a document that fails leaves the others alone.
        wants_raw: a reranker's logits, without its activation.
        answer_bytes: of the answer, beside its scores.
    """

    queries: Side
    documents: Side
    instruction: str | None = None
    max_prompt_tokens: int = -1
    cut_side: CutSide | None = "right"
    background: str = ""
    part_order: PartOrder = "reference"
    per_item: bool = False
    wants_raw: bool = False
    answer_bytes: int = 0

    @property
    def is_one_query(self) -> bool:
        """True if all documents are scored against one query."""
        return len(self.queries.items) == 1


def score_job(model: ServedModel, asked: Comparison, tenant: Tenant) -> Job:
    """Build the job for the engine.

    Raises:
        InputError: the model takes no instruction, or one order of parts, or has not so many tokens.
    """
    model.check_instruction(asked.instruction or "")
    if asked.part_order == "as_written":
        model.check_order()
    limit = prompt_limit(asked.max_prompt_tokens, model.profile.max_tokens)
    offer = model.offer
    is_unit = model.own.score_kind(offer) == "cosine"  # others are compared as the model gives them
    options = PromptOptions(Conversation(asked.instruction), as_written=asked.part_order == "as_written")
    own = model.profile.input_types
    queries: list[JobInput] = []
    if offer.is_reranker:
        queries, inputs = asked.queries.inputs(options), asked.documents.inputs(options)
    else:
        query = own[QUERY] if asked.instruction is None else asked.instruction
        inputs = asked.documents.inputs(options._replace(like=Conversation(own[DOCUMENT])))
        inputs += asked.queries.inputs(options._replace(like=Conversation(query)), first_index=len(inputs))
    ask = model.own.of(Wanted(model.own.types[:1], offer.dimensions, offer.normalize or is_unit), offer)
    return Job(
        inputs=inputs,
        queries=queries,
        truncation=Truncation(limit, asked.cut_side, how_to_cut="`truncate: true`"),
        asks=(ask,),
        tenant=tenant,
        background=asked.background,
        per_item=asked.per_item,
        answer_bytes=asked.answer_bytes + len(inputs) * ask.bytes_each,
    )
