"""Imports of the engine: torch, and of transformers what runs a model, without what only training and compiling need.

transformers' `__init__` reads 3,000 source files to know its names, and its loading brings torch's compiler, sympy and
torch.distributed, and scipy and accelerate where they are installed: more than half of a start. Here a package's
`__init__` runs when a name of it is asked for, not because a module within is imported. So a release of either that
needs more than today's starts slower, and computes the same.
"""

import importlib
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

logger = logging.getLogger("cenote.engine")

NOT_NEEDED: Final = ("accelerate", "pandas", "scipy", "sklearn")
"""Packages that transformers uses where it finds them; ours is installed without any."""


def unmarked(function: Any = None, *_: object, **__: object) -> Any:
    """A decorator that changes nothing."""
    return unmarked if function is None else function


COMPILER_MARKS: Final = dict.fromkeys(("allow_in_graph", "assume_constant_result", "disable"), unmarked)
"""What torch's compiler reads of functions. The engine compiles none."""


class LazyPackage(ModuleType):
    """Stands in for a package: modules within can be imported, and any other name brings the package itself.

    Args:
        known: names that do not bring it.
    """

    def __init__(self, spec: ModuleSpec, known: Mapping[str, object]) -> None:
        super().__init__(spec.name)
        self.__spec__, self.__path__, self.__file__ = spec, list(spec.submodule_search_locations or ()), spec.origin
        self.__package__ = spec.name
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        """A module within, or a name of the package."""
        if name.startswith("__"):
            raise AttributeError(name)
        inside = f"{self.__name__}.{name}"
        if PathFinder.find_spec(inside, self.__path__) is not None:
            return importlib.import_module(inside)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def import_transformers() -> None:
    """Import what loads and runs models of transformers; all of it where the short way fails."""
    if "transformers" in sys.modules:
        return
    try:
        _import_little()
    except Exception:
        logger.warning("transformers could not be imported in parts; the start takes longer", exc_info=True)
        for name, module in list(sys.modules.items()):
            if isinstance(module, LazyPackage):
                del sys.modules[name]
        importlib.import_module("transformers.modeling_utils")


def _import_little() -> None:
    for name in NOT_NEEDED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # by which Python knows that it is not there
    torch: Any = importlib.import_module("torch")
    torch._dynamo = _stand_in("torch._dynamo", **COMPILER_MARKS)
    whole = _stand_in("transformers", __version__=version("transformers"))
    whole.__dict__["models"] = _stand_in("transformers.models")
    with _alone(torch.distributed):
        utils: Any = importlib.import_module("transformers.utils")
        utils.direct_transformers_import = lambda _: whole  # its only user runs the package's `__init__` by this
        importlib.import_module("transformers.modeling_utils")


def _stand_in(name: str, **known: object) -> LazyPackage:
    """The package of that name, from now on."""
    spec = find_spec(name)
    if spec is None:
        raise ImportError(name)
    sys.modules[name] = package = LazyPackage(spec, known)
    return package


@contextmanager
def _alone(distributed: Any) -> Iterator[None]:
    """Let transformers find a torch that runs in one process alone, as some builds of it do."""
    is_available, distributed.is_available = distributed.is_available, lambda: False
    try:
        yield
    finally:
        distributed.is_available = is_available
