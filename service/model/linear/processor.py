"""What Linux says of the processor: its instructions, and who made it."""

from pathlib import Path

from cenote_native import may_use_avx512

CPUINFO = Path("/proc/cpuinfo")


def processor_words() -> frozenset[str]:
    """Every word of `/proc/cpuinfo`, such as `amx_bf16` or `AuthenticAMD`; none on other systems.

    Without the instructions that the process is not to use.
    """
    words = frozenset(CPUINFO.read_text().split()) if CPUINFO.exists() else frozenset[str]()
    return words if may_use_avx512() else frozenset(word for word in words if not word.startswith(("avx512", "amx_")))
