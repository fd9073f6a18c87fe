"""Prompts: from a conversation to token ids and placeholders. Imports neither torch nor transformers."""
