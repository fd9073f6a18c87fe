"""The training, scoring and calibration of the built-in models, and the scenes that they know."""
