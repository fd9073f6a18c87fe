"""Prompt templates: from a conversation to pieces of text, special tokens and placeholders.

Turns, instructions or media that a template has no place for are an `InputError`, to which the caller adds the field.
"""
