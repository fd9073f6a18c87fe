"""Prompt templates: from a conversation to pieces of text, special tokens and placeholders."""
