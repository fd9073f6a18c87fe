"""Vision features by content key, on the device and in host memory. Plain Python: knows no tensors."""
