"""Turns the bytes of a body into a typed request that keeps every rule, or raises one clear error."""
