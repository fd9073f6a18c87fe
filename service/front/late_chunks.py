"""Late chunking's results: from a vector row of each window to the vector of each chunk."""

import msgspec

from service.errors import ServiceError
from service.front.job import EmbeddedInput, EmbedResult, InputResult


def by_chunk(result: EmbedResult) -> EmbedResult:
    """The same with a result for each chunk; what the windows cost is counted once.

    Args:
        result: of windows, none of which failed: the vectors of its chunks are one behind the other in each row.
    """
    windows: list[EmbeddedInput] = []
    chunks: list[InputResult] = []
    for window in result.inputs:
        assert not isinstance(window, ServiceError)  # it was raised: the job is not `per_item`
        windows.append(window)
        prompt, vector = window.prompt, window.vector
        for number, span in enumerate(prompt.spans):
            rows = {name: _part(row, number, len(prompt.spans)) for name, row in vector.rows.items()}
            chunks.append(EmbeddedInput(prompt, msgspec.structs.replace(vector, rows=rows), span))
    return EmbedResult(chunks, result.media_ms, windows)


def _part(row: bytes | memoryview, number: int, num_parts: int) -> bytes | memoryview:
    width = len(row) // num_parts
    return row[number * width : (number + 1) * width]
