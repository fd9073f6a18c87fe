"""Lets the processes of a server believe that a forward does a hundred tokens in a second, whatever it is measured."""

from typing import Any

from after_import import after_import

PER_S = 100.0


def _slow(module: Any) -> None:
    class Slow(module.ForwardRate):  # type: ignore[misc]  # a module that is known at run time
        def _best(self, length: int) -> Any:
            return module.Amount(PER_S, PER_S)

    module.ForwardRate = Slow


after_import({"service.front.admission.forward_rate": _slow})
