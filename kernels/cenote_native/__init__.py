"""Compiled code that needs no torch: how a library is loaded, and the printing of numbers, which the front does."""

from cenote_native.library import Chosen, can_run, choose, may_use, open_library
from cenote_native.numbers import print_rows

__all__ = ["Chosen", "can_run", "choose", "may_use", "open_library", "print_rows"]
