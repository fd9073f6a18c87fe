"""Ends a build of the image whose torch is not of the variant that was asked for: `check_torch.py cpu|cuda`.

On x86 the default index gives the CUDA build, 2 GB larger: a CPU image with it would work, and nobody would notice.
"""

import sys

import torch


def main() -> int:
    """0 when it fits, 1 with the reason when it does not, 2 for a variant that there is not."""
    wanted = sys.argv[1] if len(sys.argv) == 2 else ""
    if wanted not in ("cpu", "cuda"):
        print(f"TORCH_VARIANT: got {wanted!r}, expected `cpu` or `cuda`", file=sys.stderr)
        return 2
    found = "cpu" if torch.version.cuda is None else "cuda"
    if found != wanted:
        hint = "give TORCH_INDEX: an index with builds of that kind"
        print(f"TORCH_VARIANT is {wanted}, but torch {torch.__version__} is a {found} build; {hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
