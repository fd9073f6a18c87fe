"""What a request is told when the engine has no answer for it. Nothing that a library says goes in."""

from typing import Literal

from service.ipc.messages import Failure, Request

Code = Literal["non_finite_embedding", "out_of_memory", "internal_error"]

INTERNAL = "the engine failed on this input"
NOT_SOUND = "the vector of this input is not finite and of unit length in the number format that was asked for"
NO_MEMORY = "the device has no memory for this input now; send it again, or send less"
NO_FIT = "the features of this picture hold numbers that {dtype} cannot; ask for float32"


def failed(request: Request, message: str = INTERNAL, code: Code = "internal_error") -> Failure:
    """The answer to a request that has failed."""
    return Failure(id=request.id, code=code, message=message)
