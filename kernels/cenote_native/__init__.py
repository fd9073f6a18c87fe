"""Compiled code that needs no torch: how a library is loaded, and the printing of numbers, which the front does."""

from cenote_native.library import may_use_avx512, open_library
from cenote_native.numbers import fill_places, fill_rows, print_rows

__all__ = ["fill_places", "fill_rows", "may_use_avx512", "open_library", "print_rows"]
