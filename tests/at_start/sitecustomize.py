"""Python runs this at start where this folder comes first on the path: what `after_import` finds broken is."""

import after_import

assert after_import
