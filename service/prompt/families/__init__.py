"""One page for each model family, found by listing this folder: a page is a module with a `FAMILY`.

Imports neither torch nor transformers.
"""

import importlib
import pkgutil
from collections.abc import Mapping

from service.prompt.family import Family

BY_NAME: Mapping[str, Family] = {
    page.name: importlib.import_module(f"{__name__}.{page.name}").FAMILY for page in pkgutil.iter_modules(__path__)
}
"""All that this release serves, by the names of their pages: what `--family` takes."""

FAMILIES: tuple[Family, ...] = tuple(BY_NAME.values())
