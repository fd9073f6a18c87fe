"""From vectors to the bytes of an answer."""
