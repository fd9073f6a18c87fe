"""The error that `schemas` raises when a request breaks the contract."""

from schemas.errors import ErrorCode


class RuleError(ValueError):
    """A request breaks the contract. It carries what `service.errors.InputError` needs, and knows nothing of services.

    Attributes:
        code: the stable name, one of `schemas.errors.ErrorCode`.
        message: one sentence that names the field, what came and what is allowed; never the client's data.
        param: path of the field at fault, such as `messages[0].content[1].image_url`, or None for the whole body.
        index: which item of a batch is at fault, counted from 0, or None.
    """

    def __init__(self, code: ErrorCode, message: str, *, param: str | None = None, index: int | None = None) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.message = message
        self.param = param
        self.index = index
