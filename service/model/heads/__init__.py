"""Heads: hidden states of packed prompts to the rows of one kind of output. One file each."""
