"""Limit of a prompt's length, and what is done with a longer one.

Knows no tokenizer and no template: it cuts a run of ids, and words the error.
"""

from dataclasses import dataclass
from typing import Literal, NoReturn

import msgspec

from service.errors import InputError

Side = Literal["left", "right"]
"""Where text is cut off: `right` keeps its beginning, `left` its end."""


class Truncation(msgspec.Struct, frozen=True):
    """The truncation that a request asks for.

    Attributes:
        max_tokens: longest prompt; the profile's own maximum still holds above it.
        side: None refuses a longer prompt.
        limit_name: the request's field for `max_tokens`, for errors.
        how_to_cut: what a request says to have its texts cut, for errors.
    """

    max_tokens: int
    side: Side | None = None
    limit_name: str = "truncate_prompt_tokens"
    how_to_cut: str = "`truncate_prompt_tokens: -1`"


@dataclass(frozen=True, slots=True)
class Fixed:
    """The tokens of a prompt that are never cut.

    Attributes:
        num_text: those of template, instruction and all turns but the last user's text.
        num_images: those that stand for images.
    """

    num_text: int
    num_images: int

    @property
    def num_tokens(self) -> int:
        """All of them."""
        return self.num_text + self.num_images


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The tokens that one prompt may have, and whom an error is about.

    Attributes:
        truncation: what the request asks for.
        limit: longest prompt, tokens: what the request asks for or `model_limit`, whichever is less.
    """

    truncation: Truncation
    limit: int
    model_limit: int
    param: str
    index: int

    def refuse(self, num_tokens: int, fixed: Fixed | None = None, *, is_least: bool = False) -> NoReturn:
        """Raise the error of a prompt that is too long.

        Args:
            fixed: what cannot be cut, where that is too long by itself.
            is_least: the length is a lower bound, found without tokenizing.

        Raises:
            InputError: `context_length_exceeded`, always.
        """
        amount = f"your prompt contains {'at least ' if is_least else ''}{num_tokens} input tokens"
        self._refuse(amount, self._advice() if fixed is None else self._advice_on(fixed))

    def refuse_chars(self, num_chars: int, max_chars: int) -> NoReturn:
        """Raise the error of a text that is too long to be tokenized at all.

        Args:
            max_chars: how many are read where `limit` tokens are.

        Raises:
            InputError: `context_length_exceeded`, always.
        """
        amount = f"your text has {num_chars} characters, of which at most {max_chars} are read for so many tokens"
        self._refuse(amount, self._advice())

    def _refuse(self, amount: str, advice: str) -> NoReturn:
        """In words that pgai reads: it looks for "maximum context length is N tokens", as OpenAI's errors have it."""
        whose = "This model's" if self.limit == self.model_limit else "The request's own"
        message = f"{whose} maximum context length is {self.limit} tokens. However, {amount}. {advice}."
        raise InputError("context_length_exceeded", message, param=self.param, index=self.index)

    def _advice(self) -> str:
        if self.truncation.side is not None:
            return "What is too long is not the text that is cut: please shorten the instruction or other turns"
        return f"Please shorten the input, or have its end cut off with {self.truncation.how_to_cut}"

    def _advice_on(self, fixed: Fixed) -> str:
        images = f", images {fixed.num_images}" if fixed.num_images else ""
        told = (
            f"Of these, template, instruction and other turns take {fixed.num_text} tokens{images}, never cut: please "
        )
        if fixed.num_tokens < self.model_limit:
            return f"{told}set `{self.truncation.limit_name}` above {fixed.num_tokens}"
        return told + ("send fewer or smaller images, or " if images else "send a ") + "shorter instruction or turns"
