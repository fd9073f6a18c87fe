"""The content of an item: text, images, videos, audio and precomputed features, and conversations of them."""
