"""Runs what the scheduler decided, and keeps a failure with the request that caused it. Needs torch."""
