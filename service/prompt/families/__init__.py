"""One module for each model family, found by listing this folder; each has a `FAMILY`.

Imports neither torch nor transformers.
"""

import importlib
import pkgutil
from collections.abc import Mapping

from service.prompt.profile.family import Family

FAMILIES: Mapping[str, Family] = {
    module.name: importlib.import_module(f"{__name__}.{module.name}").FAMILY
    for module in pkgutil.iter_modules(__path__)
}
"""All that this release serves, by the names of their modules: what `--family` takes."""
