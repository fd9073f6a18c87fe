"""Pages of PDF files as images."""
