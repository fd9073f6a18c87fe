"""Images: header, orientation, pixels."""
