"""The record of what is done, so that a run can be killed and resumed."""
