"""Where the check runs: a GPU, or a CPU in a dry run that proves the program and measures nothing."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from cenote_kernels.launch import Launch, on_device


@dataclass(slots=True)
class Stage:
    """One device, how kernels are launched on it, and what was measured of it so far.

    Attributes:
        device: the GPU, or the CPU in a dry run.
        launch: runs a kernel.
        is_dry: tiny sizes; whatever comes out is no measurement.
        copy_bytes_s: measured copy bandwidth, read and written counted; 0 until it is measured.
        matmul_flop_s: measured rate of a large bfloat16 matrix product; 0 until it is measured.
    """

    device: torch.device
    launch: Launch = on_device
    is_dry: bool = False
    copy_bytes_s: float = 0.0
    matmul_flop_s: float = 0.0
    seconds_left: Callable[[], float] = field(default=lambda: float("inf"))

    def size(self, real: int, dry: int) -> int:
        """A size of the check, or of the dry run."""
        return dry if self.is_dry else real

    def synchronize(self) -> None:
        """Wait for the device; errors of earlier launches come up here."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def seconds(self, run: Callable[[], object], rounds: int = 15, warm_up: int = 3, repeats: int = 1) -> float:
        """Median time of `run` on the device, by CUDA events around each round of `repeats`.

        A kernel alone would be timed with the launch that the idle card waits for; after others, it is not.
        """
        for _ in range(1 if self.is_dry else warm_up):
            run()
        self.synchronize()
        if self.device.type != "cuda":
            began = time.perf_counter()
            run()
            return time.perf_counter() - began
        times = []
        for _ in range(rounds):
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for _ in range(repeats):
                run()
            stop.record()
            stop.synchronize()
            times.append(start.elapsed_time(stop) / 1e3 / repeats)
        return statistics.median(times)

    def wall_seconds(self, run: Callable[[], object], rounds: int = 5) -> float:
        """Median time of `run` by the clock, until the device has finished: the host's part counts in."""
        times = []
        for turn in range(1 if self.is_dry else rounds + 1):
            self.synchronize()
            began = time.perf_counter()
            run()
            self.synchronize()
            if turn or self.is_dry:  # the first round warms up
                times.append(time.perf_counter() - began)
        return statistics.median(times)
