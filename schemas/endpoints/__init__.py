"""Request and response of each endpoint, one module each."""
