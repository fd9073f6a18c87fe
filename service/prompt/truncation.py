"""How long a prompt may be, and what is done with one that is longer.

Knows no tokenizer and no template: it cuts a run of ids, and words the error.
"""

from dataclasses import dataclass
from typing import Literal, NoReturn

from service.errors import InputError

Side = Literal["left", "right"]
"""Where text is cut off: `right` keeps its beginning, `left` its end."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """What a request asks for.

    Attributes:
        max_tokens: longest prompt; the profile's own maximum still holds above it.
        side: None refuses a longer prompt.
    """

    max_tokens: int
    side: Side | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens that one prompt may have, and whom an error is about.

    Attributes:
        limit: longest prompt, tokens.
        model_limit: the profile's own maximum, tokens.
        param: path of the field, for the error.
        index: input of the batch, for the error.
    """

    limit: int
    model_limit: int
    param: str | None
    index: int | None

    def refuse(self, num_tokens: int, *, num_fixed: int | None = None, is_least: bool = False) -> NoReturn:
        """Raise the error of a prompt that is too long.

        pgai reads "maximum context length is N tokens" out of an error's text, so these words stay as OpenAI has them.

        Args:
            num_tokens: length of the prompt.
            num_fixed: how many of them cannot be cut, when cutting was asked for.
            is_least: the length is a lower bound, found without tokenizing.

        Raises:
            InputError: `context_length_exceeded`, always.
        """
        whose = "This model's" if self.limit == self.model_limit else "The request's own"
        amount = f"{'at least ' if is_least else ''}{num_tokens} input tokens"
        advice = "Please shorten the input, or ask for it to be truncated."
        if num_fixed is not None:
            amount += f", {num_fixed} of them outside the text that may be truncated"
            advice = "Please send fewer or smaller images, or shorter other turns."
        message = (
            f"{whose} maximum context length is {self.limit} tokens. However, your prompt contains {amount}. {advice}"
        )
        raise InputError("context_length_exceeded", message, param=self.param, index=self.index)

    def refuse_chars(self, num_chars: int, max_chars: int) -> NoReturn:
        """Raise the error of a text that is too long to be tokenized at all.

        Args:
            num_chars: characters of the text.
            max_chars: how many are read where `limit` tokens are.

        Raises:
            InputError: `context_length_exceeded`, always.
        """
        whose = "This model's" if self.limit == self.model_limit else "The request's own"
        message = (
            f"{whose} maximum context length is {self.limit} tokens. However, your text has {num_chars} characters, of "
            f"which at most {max_chars} are read for so many tokens. Please shorten the input, or ask for it to be "
            "truncated."
        )
        raise InputError("context_length_exceeded", message, param=self.param, index=self.index)
