"""What an answer with several vectors for each input may weigh: known with the prompts, before a pixel is decoded.

In: a job as for any model. Out: the same job, which refuses what would be too large and is weighed in the queue by the
bytes of its answer. Knows no route.
"""

from collections.abc import Sequence
from dataclasses import replace

from service.errors import InputError, ServiceError
from service.fairness.threads import Steps
from service.front.job import Job
from service.ipc.messages import OutputSpec
from service.ipc.number_formats import BITS
from service.prompt.prompt import Prompt


def with_bounded_answer(job: Job, output: OutputSpec, max_bytes: int, param: str) -> Job:
    """The job, for a model that gives a vector for each token.

    Args:
        job: of the request.
        output: dimensions and number formats of each vector.
        max_bytes: most bytes of all vectors of the answer together, in all formats.
        param: the field that holds the inputs.

    Returns:
        A job. Its `prepare` raises InputError (`too_many_inputs`) for an answer that would be larger.
    """
    token_bytes = sum(output.dimensions * BITS[kind] // 8 for kind in output.kinds)

    def prepare() -> Steps[Sequence[Prompt | ServiceError]]:
        prepared = yield from job.prepare()
        num_tokens = sum(len(one.token_ids) for one in prepared if isinstance(one, Prompt))
        if num_tokens * token_bytes > max_bytes:
            raise InputError("too_many_inputs", _too_large(param, num_tokens, token_bytes, max_bytes), param=param)
        return prepared

    return replace(job, prepare=prepare, answer_token_bytes=token_bytes)


def _too_large(param: str, num_tokens: int, token_bytes: int, max_bytes: int) -> str:
    return (
        f"`{param}`: their vectors, one for each of {num_tokens} tokens, {token_bytes} bytes in the formats asked for, "
        f"take {num_tokens * token_bytes} bytes; one answer may hold {max_bytes}. Send fewer inputs at once"
    )
