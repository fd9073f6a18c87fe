"""The reference for people: from the OpenAPI document to Markdown (`make docs`) and the page `/docs`."""
