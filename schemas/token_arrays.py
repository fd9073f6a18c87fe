"""Token ids as `input`: which form they came in, and the rules that hold for them where a server accepts them.

Ids are a whole prompt as it stands, so whatever would add to a prompt contradicts them. Knows no vocabulary.

Source: OpenAI's `input` (array of tokens, array of arrays), shared/reference/api-contract.md 3.1.
"""

from collections.abc import Sequence

from schemas.embeddings import EmbeddingRequest
from schemas.rule_error import RuleError

IDS_REFUSED = (
    "`input`: expected a string or an array of strings, got token ids. Ids of another tokenizer would give wrong "
    "vectors without notice, so send text; with LangChain's OpenAIEmbeddings set check_embedding_ctx_length=False"
)

Item = str | int | list[int]
"""An entry of `input`."""

_KINDS: dict[type, str] = {str: "a string", int: "a token id", list: "an array of token ids"}
_NAMING = ("instruction", "input_type")
_OF_JSON: dict[type, str] = {int: "an integer", list: "an array"}
_ADDING = ("add_generation_prompt", "add_special_tokens")


def token_arrays(items: str | Sequence[Item] | None) -> list[list[int]]:
    """The prompts that `input` holds as token ids; empty when it holds texts.

    Args:
        items: the field of a request, not mixed.

    Returns:
        One list of ids for each vector to answer.
    """
    if items is None or isinstance(items, str):
        return []
    flat = [item for item in items if isinstance(item, int)]
    return [flat] if flat else [item for item in items if isinstance(item, list)]


def ids_refused(items: Sequence[Item]) -> RuleError:
    """The refusal of what is no list of texts: token ids, or the first entry among texts that is none.

    Args:
        items: the field of a request; one entry at least is no text.
    """
    place, odd = next((i, item) for i, item in enumerate(items) if not isinstance(item, str))
    if not any(isinstance(item, str) for item in items):
        return RuleError("token_arrays_not_accepted", IDS_REFUSED, param="input")
    param = f"input[{place}]"
    message = f"`{param}`: expected a string like other entries, got {_OF_JSON[type(odd)]}; no token ids are taken here"
    return RuleError("token_arrays_not_accepted", message, param=param, index=place)


def check_token_arrays(request: EmbeddingRequest) -> None:
    """Check a request whose `input` holds token ids.

    Raises:
        RuleError: with `empty_input`, `conflicting_input`, or `invalid_request` for texts among ids.
    """
    items = request.input if isinstance(request.input, list) else []
    for i, item in enumerate(items):
        if type(item) is not type(items[0]):
            wanted, got = _KINDS[type(items[0])], _KINDS[type(item)]
            message = f"`input[{i}]`: expected {wanted} like the entries before it, got {got}; they are not mixed"
            raise RuleError("invalid_request", message, param=f"input[{i}]")
        if item == []:
            raise RuleError(
                "empty_input", f"`input[{i}]`: expected at least 1 token id, got none", param=f"input[{i}]", index=i
            )
    for name in _NAMING:
        if getattr(request, name) is not None:
            message = f"token ids are a whole prompt as they stand: expected no `{name}` beside them, got one"
            raise RuleError("conflicting_input", message, param=name)
    for name in _ADDING:
        if getattr(request, name):
            message = f"token ids are a whole prompt as they stand: expected `{name}` false or absent, got true"
            raise RuleError("conflicting_input", message, param=name)
