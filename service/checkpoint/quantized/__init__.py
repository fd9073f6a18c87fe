"""Quantized weights as their files describe them: settings of config.json, and which tensors are one matrix."""
