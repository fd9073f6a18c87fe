"""Decisions and checks of the engine, once before it serves."""
