"""A prompt that a client tokenized itself: its ids as they stand, checked and nothing added.

In: ids. Out: a `Prompt` within the length limit, or an error. Knows no template; images cannot be told in ids.
"""

from dataclasses import dataclass

from schemas.limits import MAX_INT32
from service.errors import InputError
from service.outputs.plan import TokenPlan
from service.prompt.profile.profile import Profile
from service.prompt.prompt import Prompt
from service.prompt.templates.single_item import IMAGES_ONLY
from service.prompt.truncation import TokenBudget, Truncation


@dataclass(frozen=True, slots=True)
class TokenArray:
    """The ids of one prompt, as they came."""

    token_ids: list[int]


def build_token_array(
    array: TokenArray, truncation: Truncation, profile: Profile, num_ids: int, *, param: str, index: int
) -> Prompt:
    """Check ids and, if asked, cut them plainly: whatever stands at that end goes.

    Args:
        profile: for its limit and its media tokens.
        num_ids: how many have an embedding; ids are below it.

    Raises:
        InputError: `context_length_exceeded`, or `invalid_request` for an id that is none or stands for media; or
            `unsupported_modality`: the model reads no text.
    """
    if "text" not in profile.modalities:
        raise InputError("unsupported_modality", f"`{param}`: {IMAGES_ONLY}", param=param, index=index)
    token_ids, limit = array.token_ids, min(truncation.max_tokens, profile.max_tokens)
    num_excess, media_tokens = len(token_ids) - limit, profile.media_tokens
    if num_excess > 0 and truncation.side is None:
        TokenBudget(truncation, limit, profile.max_tokens, param, index).refuse(len(token_ids))
    for place, token_id in enumerate(token_ids):
        if not 0 <= token_id < num_ids:
            got = f"the token id {token_id}" if abs(token_id) <= MAX_INT32 else "a number that is far from it"
            message = f"`{param}[{place}]`: expected a token id from 0 to {num_ids - 1}, got {got}"
            raise InputError("invalid_request", message, param=f"{param}[{place}]", index=index)
        if token_id in media_tokens:
            message = (
                f"`{param}[{place}]`: expected a token id that stands for text, got {token_id}, which stands for "
                "media; images go into `inputs` or `messages`"
            )
            raise InputError("invalid_request", message, param=f"{param}[{place}]", index=index)
    if num_excess <= 0:
        return Prompt(TokenPlan(token_ids), (), truncated=False)
    kept = token_ids[:limit] if truncation.side == "right" else token_ids[num_excess:]
    return Prompt(TokenPlan(kept), (), truncated=True)
