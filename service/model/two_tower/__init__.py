"""Two-tower models: CLIP, SigLIP, CLAP and their likes."""
