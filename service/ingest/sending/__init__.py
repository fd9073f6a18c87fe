"""Sends items to the server over HTTP, and reads vectors from its answers."""
