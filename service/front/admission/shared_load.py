"""A load that the other fronts see, and that sees theirs."""

from service.front.admission.load import Load
from service.front.admission.other_fronts import OtherFronts


class SharedLoad(Load):
    """This front's part of a load of the service.

    Args:
        others: the other fronts.
        name: of the load, the same at each.
    """

    __slots__ = ("_name", "_others")

    def __init__(self, others: OtherFronts, name: str) -> None:
        super().__init__()
        self._others = others
        self._name = name

    def add(self, other: Load, sign: int = 1) -> None:
        """Add an amount, and show the others what this front holds now."""
        super().add(other, sign)
        self._others.show(self._name, self.num_inputs, self.num_tokens, self.num_bytes)

    def whole(self) -> Load:
        """What all fronts hold."""
        theirs = self._others.sums(self._name)
        if theirs is None:
            return self
        num_inputs, num_tokens, num_bytes, _ = theirs
        return Load(self.num_inputs + num_inputs, self.num_tokens + num_tokens, self.num_bytes + num_bytes)
