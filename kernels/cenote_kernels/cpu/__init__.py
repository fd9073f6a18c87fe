"""Kernels for processors: C, compiled when the package is built (`kernels/build_native.py`), called through ctypes."""
