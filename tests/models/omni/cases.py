"""Items of every kind and mixture, each alone a test of its vector."""

from typing import Any

from tests.models.omni.media import CLEAR, NOISE, SLIVER, TALL, WIDE, Film, drawn, sound

LIST = Film((WIDE, drawn(140, 90, 3), WIDE))
FILE, LONG_FILE = Film.of_file(26), Film.of_file(200)
SHORT, LONG = sound(0.3), sound(2.4, 500)
CASES: dict[str, list[Any]] = {
    "text": ["A lighthouse on a cliff above the sea."],
    "text beyond the window": ["a lighthouse on a cliff " * 12],
    "empty text": [""],
    "text of blanks and newlines": ["  two \n\n lines "],
    "image": [WIDE],
    "tall image": [TALL],
    "sliver": [SLIVER],
    "image that is shrunk": [NOISE],
    "transparent image": [CLEAR],
    "two images and a text": [TALL, WIDE, "Which is wider?"],
    "audio of a few tokens": [SHORT],
    "audio beyond the tower's window": [LONG],
    "audio of one frame": [sound(161 / 16_000)],
    "audio beyond thirty seconds": [sound(31.0, 40)],
    "video of a list": [LIST],
    "video of more frames than are taken": [Film((WIDE, TALL.resize((140, 90))) * 17)],
    "video file": [FILE],
    "video file of more seconds than frames are taken": [LONG_FILE],
    "text before an image": ["a photo of ", WIDE],
    "all kinds in one item": ["a ", WIDE, " b ", LONG, "\nc", LIST, FILE],
    "the same media twice": [SHORT, SHORT, WIDE, " and ", WIDE],
}
