"""Admission: API keys, rates, the bounded queue, and the bytes of answers under way."""
