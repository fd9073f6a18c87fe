"""A load that the other fronts see, and that sees theirs."""

from service.front.admission.load import Load
from service.front.admission.shared_table import SharedTable


class SharedLoad(Load):
    """This front's part of a load of the service.

    Args:
        table: of all fronts.
        name: of the load, the same at each.
    """

    __slots__ = ("_name", "_table")

    def __init__(self, table: SharedTable, name: str) -> None:
        super().__init__()
        self._table = table
        self._name = name

    def add(self, other: Load, sign: int = 1) -> None:
        """Add an amount, and publish what this front holds now."""
        super().add(other, sign)
        self._table.publish(self._name, self.num_inputs, self.num_tokens, self.num_bytes)

    def whole(self) -> Load:
        """What all fronts hold."""
        num_inputs, num_tokens, num_bytes, _ = self._table.others(self._name)
        return Load(self.num_inputs + num_inputs, self.num_tokens + num_tokens, self.num_bytes + num_bytes)
