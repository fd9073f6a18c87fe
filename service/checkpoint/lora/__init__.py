"""LoRA adapters released without their base: what their files say, and one folder with both. Imports no torch."""
