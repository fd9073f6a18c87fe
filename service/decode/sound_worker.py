"""A sound decoder's process: as `worker`, with FFmpeg in it, which reads no network and no file.

`python -m service.decode.sound_worker SOCKET_FD MAX_MEMORY_BYTES CPU_S`, started by `service.decode.sounds` and by
nobody else. It needs the extra `audio`.
"""

import base64

import av

from schemas.audio import EXAMPLE_WAV
from service.decode.messages import DecodeEnd, SoundTask
from service.decode.serve import serve
from service.decode.sound_reader import read_info, read_samples
from service.media.sound import put_samples
from service.media.sound_rule import SoundRule


def main() -> None:
    """Decode until the front goes."""
    serve(SoundTask, load_codecs, decode)


def load_codecs() -> None:
    """Read one small file: libraries load parts of themselves at the first use."""
    av.logging.set_level(av.logging.PANIC)
    encoded = base64.b64decode(EXAMPLE_WAV)
    read_info(encoded, "wav", 1.0)
    read_samples(encoded, "wav", SoundRule(rate_hz=48_000), 48_000)


def decode(task: SoundTask) -> tuple[DecodeEnd, memoryview]:
    """What the container says, or a slot with the samples; neither when the file cannot be read."""
    nothing = memoryview(b"")
    try:
        if task.rule is None:
            info = read_info(task.encoded, task.format, task.max_duration_s)
            return DecodeEnd(num_bytes=0, sound=info), nothing
        samples = read_samples(task.encoded, task.format, task.rule, task.max_samples)
        slot = put_samples(samples, task.num_slot_bytes)
        return DecodeEnd(num_bytes=slot.nbytes), slot.data.cast("B")
    except Exception:  # noqa: BLE001  # FFmpeg has an error class for each of its codes, and Python's own come too
        return DecodeEnd(num_bytes=0), nothing


if __name__ == "__main__":
    main()
