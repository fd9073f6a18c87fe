"""From a decoded request to prompts: its texts, images, videos, audio and PDFs, fetched and opened."""
