"""Quantized weights, dequantized as a model is loaded."""
