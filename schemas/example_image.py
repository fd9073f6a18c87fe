"""The picture of the document's examples."""

EXAMPLE_IMAGE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAALElEQVR42u3NQQEAQAQAMC6NCvp3kO"
    "dK8NsKLKc6Lr04JhAIBAKBQCAQCLZ8Sh8BdxedIcAAAAAASUVORK5CYII="
)
"""A red square of 32 × 32 pixels, for the examples of the document: small, and a real PNG."""
