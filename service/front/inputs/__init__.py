"""From a decoded request to prompts: its texts, images, videos and audio, fetched and opened."""
