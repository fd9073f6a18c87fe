"""What Linux says of the processor: its instructions, and who made it."""

from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def processor_words() -> frozenset[str]:
    """Every word of `/proc/cpuinfo`, such as `amx_bf16` or `AuthenticAMD`; none on other systems."""
    return frozenset(CPUINFO.read_text().split()) if CPUINFO.exists() else frozenset()
