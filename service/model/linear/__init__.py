"""Linear layers in float32, in parts of bfloat16, and in int8."""
