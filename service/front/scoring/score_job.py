"""The job of a comparison: pairs for a reranker; for an embedder the documents, and after them the queries."""

from service.front.inputs.lengths import prompt_limit
from service.front.job import Job, JobInput, PromptOptions
from service.front.scoring.comparison import Comparison
from service.front.served_model import ServedModel
from service.front.tenant import Tenant
from service.prompt.truncation import Truncation

QUERY, DOCUMENT = "search_query", "search_document"
"""The names of an embedder's instructions for both sides: every profile has them."""


def score_job(model: ServedModel, asked: Comparison, tenant: Tenant) -> Job:
    """Build the job for the engine.

    Raises:
        InputError: the model takes no instruction, or one order of parts, or has not so many tokens.
    """
    model.check_instruction(asked.instruction)
    limit = prompt_limit(asked.max_prompt_tokens, model.profile.max_tokens)
    offer = model.offer
    is_unit = model.own.score_kind(offer) == "cosine"  # others are compared as the model gives them
    options = PromptOptions(asked.instruction, as_written=model.keeps_order(asked.part_order))
    own = model.profile.input_types
    queries: list[JobInput] = []
    if offer.activation:
        queries, inputs = asked.queries.inputs(options), asked.documents.inputs(options)
    else:
        inputs = asked.documents.inputs(options._replace(instruction=None, named_instruction=own[DOCUMENT]))
        inputs += asked.queries.inputs(options._replace(named_instruction=own[QUERY]), first_index=len(inputs))
    ask = model.own.of(model.own.types[:1], offer.dimensions, offer, normalize=offer.normalize or is_unit)
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
