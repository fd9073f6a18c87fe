"""Python runs this at start where this folder comes first on the path."""

import after_import

assert after_import
