"""The job of a comparison: pairs for a reranker; for an embedder the documents, and behind them the queries."""

from service.front.inputs.lengths import prompt_limit
from service.front.job import Job, JobInput, PromptOptions
from service.front.scoring.comparison import Comparison
from service.front.served_model import ServedModel
from service.front.tenant import Tenant
from service.ipc.messages import OutputSpec
from service.ipc.sparse_row import expected_bytes
from service.prompt.truncation import Truncation

QUERY, DOCUMENT = "search_query", "search_document"
"""The names of an embedder's instructions for both sides: every profile has them."""


def score_job(model: ServedModel, asked: Comparison, tenant: Tenant, max_answer_bytes: int) -> Job:
    """What the engine is asked for.

    Args:
        max_answer_bytes: most bytes of all vectors, where an input has several, or a sparse one.

    Raises:
        InputError: the model takes no instruction, or one order of parts, or has not so many tokens.
    """
    model.check_instruction(asked.instruction)
    limit = prompt_limit(asked.max_prompt_tokens, model.profile.max_tokens)
    is_reranker, several = model.profile.scoring is not None, model.is_multi_vector
    is_raw = several or model.score_kind == "dot"  # compared as the model gives them
    options = PromptOptions(asked.instruction, as_written=model.keeps_order(asked.part_order))
    own = model.profile.input_types
    queries: list[JobInput] = []
    if is_reranker:
        queries, inputs = asked.queries.inputs(options), asked.documents.inputs(options)
    else:
        inputs = asked.documents.inputs(options._replace(instruction=None, named_instruction=own[DOCUMENT]))
        inputs += asked.queries.inputs(options._replace(named_instruction=own[QUERY]), first_index=len(inputs))
    dimensions = model.profile.dimensions
    if model.is_sparse_only:
        output = OutputSpec(dimensions=dimensions, output_dtypes=(), normalize=False, is_sparse=True)
    else:
        output = OutputSpec(dimensions=dimensions, normalize=model.profile.normalize if is_raw else not is_reranker)
    vector_bytes = output.vector_bytes + expected_bytes(output)
    return Job(
        inputs=inputs,
        queries=queries,
        truncation=Truncation(limit, asked.cut_side, how_to_cut="`truncate: true`"),
        output=output,
        tenant=tenant,
        background=asked.background,
        per_item=asked.per_item,
        answer_bytes=asked.answer_bytes + (0 if several else len(inputs) * vector_bytes),
        token_bytes=output.vector_bytes if several else 0,
        max_answer_bytes=max_answer_bytes,
    )
