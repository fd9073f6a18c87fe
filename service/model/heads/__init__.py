"""Heads: hidden states of packed prompts to the rows of one kind of output. One file each.

Files of a head that are missing or damaged, have other shapes, or do not follow each other are a `ModelError`.
"""
