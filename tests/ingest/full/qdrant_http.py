"""Qdrant's embedded form behind HTTP, as a program: `FOLDER PORT`. No registry of packages has Qdrant's own server."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import qdrant_client

NAME = "down"


class Routes(BaseHTTPRequestHandler):
    """Those that a run calls, of one collection."""

    protocol_version = "HTTP/1.1"
    client: Any
    lock = threading.Lock()

    def do_GET(self) -> None:
        is_there = self.client.collection_exists(NAME)
        if self.path.endswith("/exists"):
            self._answer({"exists": is_there})
        else:
            self._answer(json.loads(self.client.get_collection(NAME).model_dump_json()) if is_there else {})

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.lock:
            if self.path.partition("?")[0].endswith("/points"):
                self.client.upsert(NAME, [qdrant_client.models.PointStruct(**point) for point in body["points"]])
                self._answer({"operation_id": 0, "status": "completed"})
            else:
                vectors = qdrant_client.models.VectorParams(**body["vectors"])
                self._answer(self.client.create_collection(NAME, vectors_config=vectors))

    def _answer(self, result: Any) -> None:
        content = json.dumps({"result": result, "status": "ok", "time": 0.0}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        return


if __name__ == "__main__":
    folder, port = sys.argv[1:]
    Routes.client = qdrant_client.QdrantClient(path=folder, force_disable_check_same_thread=True)
    ThreadingHTTPServer(("127.0.0.1", int(port)), Routes).serve_forever()
