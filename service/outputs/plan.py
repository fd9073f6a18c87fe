"""The tokens of a prompt, and what the model does with each: made with the prompt, read by the model alone."""

import msgspec


class TokenPlan(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The tokens of a prompt, which requests and batches carry unchanged.

    Attributes:
        num_masked: tokens at the end that no token attends to: a query's expansion in late interaction.
        skipped: positions of tokens whose vectors are not given, ascending, where each token has one.
        uses_static_weights: its vector is its tokens' own weights; the model does not run.
        spans: tokens that have a vector together, first and after the last of each, ascending; empty: all have one.
    """

    ids: list[int]
    num_masked: int = 0
    skipped: tuple[int, ...] = ()
    uses_static_weights: bool = False
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def needs_forward(self) -> bool:
        """True if the model runs for it."""
        return not self.uses_static_weights
