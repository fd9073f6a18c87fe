"""Files that hold several items, PDFs and videos, read by processes that can be killed."""
