"""The size that an image or frame gets, and the resize itself, as the reference does it."""
