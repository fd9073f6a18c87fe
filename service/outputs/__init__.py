"""Kinds of output: each file holds what a request asks of one, its size, its refusals and its JSON. Needs no torch."""
