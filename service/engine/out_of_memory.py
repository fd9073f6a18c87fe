"""Whether an error says that memory was short. Torch has one class for devices and only a sentence for the CPU."""

CPU_WORDS = ("can't allocate memory", "not enough memory")
"""From torch's `DefaultCPUAllocator`, which raises a plain RuntimeError."""


def is_out_of_memory(error: BaseException) -> bool:
    """True for `torch.OutOfMemoryError`, `MemoryError`, and the CPU allocator's RuntimeError."""
    import torch  # here, where something has failed: the loop itself can be imported without it

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in CPU_WORDS)
