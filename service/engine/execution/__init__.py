"""Runs what the scheduler decided, and keeps a failure with the request that caused it. Needs torch.

Whatever else is raised here means that the device is lost.
"""
