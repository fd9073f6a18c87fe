"""The memory that a decode is charged with is what it takes, measured in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from service.media.image.header import DecodeLimits, read_header

SIDE = 2_200
PEAK = """
import sys
from pathlib import Path
from service.media.image.decode import decode_rgb
from service.media.image.header import DecodeLimits, read_header

def peak():
    return next(int(line.split()[1]) << 10 for line in Path("/proc/self/status").open() if line.startswith("VmHWM"))

encoded = Path(sys.argv[1]).read_bytes()
header = read_header(encoded, DecodeLimits())
before = peak()
decode_rgb(encoded, header, background=(1, 2, 3)).resize((64, 64))
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process")
@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("PNG", "LA", {}),
        ("JPEG", "CMYK", {"progressive": True, "subsampling": 0}),
        ("WEBP", "RGBA", {"method": 0}),
        ("GIF", "P", {"transparency": 1}),
        ("BMP", "RGBA", {}),
    ],
)
def test_no_format_takes_more_than_it_is_charged_with(
    tmp_path: Path, kind: str, mode: str, options: dict[str, object]
) -> None:
    file = tmp_path / "image"
    Image.new(mode, (SIDE, SIDE)).save(file, kind, **options)
    charged = read_header(file.read_bytes(), DecodeLimits()).num_decode_bytes
    ended = subprocess.run([sys.executable, "-c", PEAK, str(file)], capture_output=True, text=True, check=True)
    assert 0.5 * charged < int(ended.stdout) < 1.03 * charged
