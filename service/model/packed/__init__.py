"""Packed batches: sequences end to end without padding, and attention over them."""
