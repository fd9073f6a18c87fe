"""Calls of an operation whose body and answer are lines: lines are sent as they are made, answers read as they come.

In: an address and a line. Out: code that runs as it stands. Which clients can send and read at the same time is told in
`docs/stream.md`; Python's own `http.client` can, with a thread that sends.
"""

import json
from typing import Any

from service.reference.literal import json_literal, python_literal

_PYTHON = """\
import http.client
import json
import threading
from urllib.parse import urlsplit

url = urlsplit("{url}")
lines = [
    {line},
]


def send():
    for line in lines:  # any number of them, from anywhere
        data = json.dumps(line).encode() + b"\\n"
        connection.send(b"%x\\r\\n%b\\r\\n" % (len(data), data))
    connection.send(b"0\\r\\n\\r\\n")


connection = http.client.HTTPConnection(url.netloc, timeout=60)
connection.putrequest("POST", url.path)
connection.putheader("content-type", "application/x-ndjson")
connection.putheader("transfer-encoding", "chunked")
connection.endheaders()
threading.Thread(target=send, daemon=True).start()
for row in connection.getresponse():
    answer = json.loads(row)
    print(answer)
assert answer["type"] == "end", "the stream was cut off"
"""

_TYPESCRIPT = """\
const answer = await fetch("{url}", {{
  method: "POST",
  headers: {{ "content-type": "application/x-ndjson" }},
  body: [
    {line},
  ].map((line) => JSON.stringify(line) + "\\n").join(""),
}});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.text());
"""


def stream_calls(url: str, line: Any) -> tuple[tuple[str, str, str], ...]:
    """Language, title and code of each call.

    Args:
        url: of the operation.
        line: what to send.
    """
    curl = f"curl {url} -N -X POST -T . -H 'content-type: application/x-ndjson' <<'LINES'\n{json.dumps(line)}\nLINES"
    return (
        ("sh", "curl", curl),
        ("python", "Python, http.client", _PYTHON.format(line=python_literal(line, indent=4), url=url).rstrip()),
        ("ts", "TypeScript", _TYPESCRIPT.format(line=json_literal(line, indent=4), url=url).rstrip()),
    )
