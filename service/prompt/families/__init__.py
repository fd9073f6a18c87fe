"""Model families, found by listing this folder: each module has some in `FAMILIES`, by name.

Imports neither torch nor transformers.
"""

import importlib
import pkgutil
from collections.abc import Mapping

from service.prompt.profile.family import Family

_MODULES = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]

FAMILIES: Mapping[str, Family] = dict(
    sorted((pair for module in _MODULES for pair in module.FAMILIES.items()), key=lambda pair: pair[0])
)
"""All that this release serves, by name: what `--family` takes."""
