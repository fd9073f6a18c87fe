"""Pages of PDF files as items: sizes, text layers and images, from processes that can be killed."""
