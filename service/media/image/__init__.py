"""Images: header, orientation, pixels. What cannot be decoded is a `MediaError`, `media_undecodable`."""
