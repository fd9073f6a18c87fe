"""Qwen3-VL: vision tower and language model over packed sequences."""
