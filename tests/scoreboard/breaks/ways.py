"""Ways to break a module that has just been loaded: a function or a constant of it is replaced.

Imported at the start of every process of a broken product: nothing of the product, and nothing heavy, is imported here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, NoReturn

Change = Callable[[Any], None]
"""Given the module, once it has been executed."""


@dataclass(frozen=True, slots=True)
class Break:
    """One deliberate break, which its line must notice.

    Attributes:
        name: what is broken, in words.
        size: how many the line tries to notice it.
        module: of the product, or of the line.
        change: what is done to it.
    """

    name: str
    size: int
    module: str
    change: Change


def values(**constants: Any) -> Change:
    """Give constants of the module other values."""

    def change(module: Any) -> None:
        for name, value in constants.items():
            assert hasattr(module, name), f"{module.__name__} has no {name}"
            setattr(module, name, value)

    return change


def around(path: str, made: Callable[[Any], Any]) -> Change:
    """Replace a function, `Class.method` or `function`, by what is made of it."""

    def change(module: Any) -> None:
        owner, (*outer, name) = module, path.split(".")
        for one in outer:
            owner = getattr(owner, one)
        original = vars(owner)[name]
        setattr(owner, name, made(original))

    return change


def put(module: Any, path: str, value: Any) -> None:
    """Put something in the place of a function, which must be there."""
    around(path, lambda _: value)(module)


def gives(path: str, value: Any) -> Change:
    """Let a function give a value, whatever it is asked."""
    return around(path, lambda original: wraps(original)(lambda *_, **__: value))


def nothing(path: str) -> Change:
    """Let a function do nothing."""
    return gives(path, None)


def then(path: str, more: Callable[..., object]) -> Change:
    """Let a method do something more, given what it was given."""

    def made(original: Any) -> Any:
        def both(*given: Any, **named: Any) -> Any:
            found = original(*given, **named)
            more(*given)
            return found

        return both

    return around(path, made)


def passing_on(path: str, *caught: type[Exception]) -> Change:
    """Let an error that a function meets end its process, but for some kinds: it becomes one that nobody catches."""

    class BrokenError(BaseException):
        pass

    def made(original: Any) -> Any:
        def uncaught(*given: Any, **named: Any) -> Any:
            try:
                return original(*given, **named)
            except caught:
                raise
            except Exception as error:
                raise BrokenError(str(error)) from error

        return uncaught

    return around(path, made)


def refusing_as(path: str, code: str) -> Change:
    """Let a coroutine's refusals have another code."""

    def made(original: Any) -> Any:
        async def refused(*given: Any, **named: Any) -> Any:
            try:
                return await original(*given, **named)
            except Exception as error:
                error.code = code  # type: ignore[attr-defined]
                raise

        return refused

    return around(path, made)


class Proxy:
    """A thing with some of its attributes in place of its own."""

    def __init__(self, one: Any, **others: Any) -> None:
        self.__dict__.update(others, _one=one)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._one, name)


def changed(one: Any, **fields: Any) -> Any:
    """A frozen struct, dataclass or named tuple with other fields."""
    if hasattr(one, "__struct_fields__"):
        from msgspec.structs import replace

        return replace(one, **fields)
    if hasattr(one, "_replace"):
        return one._replace(**fields)
    from dataclasses import replace as replaced

    return replaced(one, **fields)


def fails(error: BaseException) -> NoReturn:
    raise error
