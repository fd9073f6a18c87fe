"""The built-in model: its checkpoint, and how it was trained, scored and calibrated."""
