"""Why tests of kernels for processors are skipped here; `conftest.py` counts them at the end of a run."""

from cenote_native import choose
from tests.conftest import ROOT

NO_KERNEL = f"no kernel for this runs here: {choose(ROOT / 'kernels/cenote_kernels/cpu').why_no_more or 'no bfloat16'}"
"""The one place that says it."""
