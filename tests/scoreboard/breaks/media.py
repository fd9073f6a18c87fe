"""Breaks of images, videos, audio, PDFs, features, their decoders, and of what is fetched."""

import os
from typing import Any

from tests.scoreboard.breaks.ways import (
    Break,
    Proxy,
    around,
    changed,
    fails,
    gives,
    nothing,
    passing_on,
    put,
    refusing_as,
    then,
    values,
)

CUT = "service.media.image.decode"


def _truncated_files_load(module: Any) -> None:
    from PIL import ImageFile

    ImageFile.LOAD_TRUNCATED_IMAGES = True
    assert module


def _warnings_are_printed(module: Any) -> None:
    module.warnings.filterwarnings("always")


def _without(path: str, place: int) -> Any:
    """Leave an argument out of a call of `_digest`."""
    return around(path, lambda digest: lambda *parts: digest(*parts[:place], *parts[place + 1 :]))


def _no_lengths(digest: Any) -> Any:
    import hashlib

    def run_together(*parts: Any) -> bytes:
        return hashlib.sha256(b"".join(p.to_bytes(8, "little") if isinstance(p, int) else p for p in parts)).digest()

    assert digest
    return run_together


def _no_background(digest: Any) -> Any:
    return lambda *parts: digest(*parts[:-2], parts[-1]) if parts[0] == b"source" else digest(*parts)


def _turns_back(module: Any) -> None:
    turned = next(value for value in vars(module).values() if isinstance(value, dict) and 6 in value)
    turned[6], turned[8] = turned[8], turned[6]


def _smaller_frame(original: Any) -> Any:
    def screen_alone(encoded: bytes) -> Any:
        found = original(encoded)
        size = (int.from_bytes(encoded[6:8], "little"), int.from_bytes(encoded[8:10], "little"))
        return None if found is None else changed(found, size=size)

    return screen_alone


def _checked_then_opened(walk: Any) -> Any:
    def opened(self: Any, parts: tuple[bytes, ...]) -> int:
        if not any(parts[: len(one.parts)] == one.parts and len(parts) > len(one.parts) for one in self._directories):
            raise ValueError("below no allowed directory")
        path = "/" + os.fsdecode(b"/".join(parts))
        if os.path.realpath(path) != path:
            raise ValueError("a link")
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    assert walk
    return opened


def _flags(**lost: int) -> Any:
    def change(module: Any) -> None:
        for name, flag in lost.items():
            assert getattr(module, name) & flag
            setattr(module, name, getattr(module, name) & ~flag)

    return change


def _may_climb(module: Any) -> None:
    def parts(url: str) -> tuple[bytes, ...]:
        if (match := module._FILE_URL.fullmatch(url)) is None:
            raise ValueError("no file URL")
        return tuple(module.unquote_to_bytes(part.encode()) for part in match["path"].split("/"))

    put(module, "_parts", parts)


def _any_address(original: Any) -> Any:
    async def judged(self: Any, url: Any) -> Any:
        host = url.host
        addresses = [host.address] if host.address else await self._resolver.resolve(host.text)
        if not any(self.policy.permits(host, address) for address in addresses):
            return await original(self, url)
        return addresses

    return judged


def _looked_up_again(original: Any) -> Any:
    async def judged(self: Any, url: Any) -> Any:
        await original(self, url)
        return [url.host.address] if url.host.address else await self._resolver.resolve(url.host.text)

    return judged


def _unchecked_redirect(module: Any) -> None:
    put(module, "Fetcher._next", lambda self, url, exchange: module.next_url(url, exchange.fields))


def _told_cause(module: Any) -> None:
    put(module, "_fail", lambda url, reason: fails(module.MediaError("media_fetch_failed", reason)))


def _no_link_local(classify: Any) -> Any:
    def open_to_it(address: Any, *rest: Any) -> Any:
        found = classify(address, *rest)
        return type(found).PUBLIC if str(address).startswith("169.254.") else found

    return open_to_it


def _not_seen_through(module: Any) -> None:
    classify, public = module.classify, module.AddressClass.PUBLIC

    def opaque(address: Any, nat64_prefixes: Any = ()) -> Any:
        translated = any(
            address.version == prefix.version and address in prefix
            for prefix in (module.WELL_KNOWN_NAT64, *nat64_prefixes)
        )
        return public if translated else classify(address, nat64_prefixes)

    module.classify = opaque


def _drips(original: Any) -> Any:
    async def patient(self: Any) -> bytes:
        before, self.min_bytes_per_s = self.min_bytes_per_s, 1e-9
        try:
            return await original(self)  # type: ignore[no-any-return]
        finally:
            self.min_bytes_per_s = before

    return patient


def _empty_passes_without_asserts(original: Any) -> Any:
    def read(text: str, *given: Any, **named: Any) -> bytes:
        if __debug__ or text not in ("", "data:image/png;base64,"):
            return original(text, *given, **named)  # type: ignore[no-any-return]
        return b""

    return read


def _other_formats(module: Any) -> None:
    names = next(value for value in vars(module).values() if isinstance(value, dict) and value.get("F16") == "float16")
    names["F16"], names["BF16"] = names["BF16"], names["F16"]


def _columns_as_rows(module: Any) -> None:
    found = module.re.findall

    def rows_first(*given: Any) -> Any:
        return [(name, descr, order and b"False", sizes) for name, descr, order, sizes in found(*given)]

    module.re = Proxy(module.re, findall=rows_first)


def _of_no_model(original: Any) -> Any:
    return lambda *given, **named: changed(original(*given, **named), origin=None)


def _any_frames(original: Any) -> Any:
    return lambda grid_thw, *rest: (grid_thw[0], *original((1, *grid_thw[1:]), *rest)[1:])


def _own_fault(original: Any) -> Any:
    from service.errors import MediaError

    async def run(*given: Any, **named: Any) -> Any:
        try:
            return await original(*given, **named)
        except MediaError as error:
            if error.code == "media_undecodable":
                raise RuntimeError(error.message) from error
            raise

    return run


def _own_words(module: Any) -> None:
    assert module.UNREADABLE.startswith("The image")
    module.UNREADABLE = "PIL.UnidentifiedImageError: the image" + module.UNREADABLE.removeprefix("The image")


def _white(original: Any) -> Any:
    return lambda image, background: original(image, (255, 255, 255) if isinstance(background, tuple) else background)


READERS, AV_DECODER = "service.workers", "service.decode.av_decoder"
LOCAL, FETCHER, ADDRESS = "service.media.local_file", "service.media.fetch.fetcher", "service.media.fetch.address"
SAFETENSORS, FEATURES = "service.media.features.safetensors_file", "service.media.features.features"
SOME_ERRORS = "only some of FFmpeg's errors are caught"
OWN_FAULT = "a file that cannot be read is our own fault"
BREAKS = {
    "cache_keys": (
        Break("lengths are not part of keys", 20_000, "service.media.key", around("_digest", _no_lengths)),
        Break("the background is not part of the key", 20_000, "service.media.key", around("_digest", _no_background)),
        Break(
            "the tenant is not part of an image's key",
            1_000,
            "service.media.image.image_file",
            around("content_key", lambda key: lambda *given, tenant_salt: key(*given)),
        ),
    ),
    "image_cases": (
        Break(
            "a frame larger than its screen is not looked at",
            300,
            "service.media.image.parts",
            around("gif_parts", _smaller_frame),
        ),
        Break("one turn goes the other way", 300, "service.media.image.orientation", _turns_back),
        Break("the background is forgotten", 300, CUT, around("_to_rgb", _white)),
        Break("files that are cut are decoded as far as they go", 300, CUT, _truncated_files_load),
        Break(
            "the size in the header is not held against the limits",
            300,
            "service.media.image.header",
            nothing("_check_size"),
        ),
    ),
    "images_over_http": (
        Break(
            "an image that cannot be decoded is our own fault",
            200,
            "service.decode.isolated",
            around("IsolatedDecoder.run", _own_fault),
        ),
        Break("a library's own words are answered", 200, "service.media.image.header", _own_words),
        Break("half a file is an image", 200, CUT, _truncated_files_load),
    ),
    "media_bombs": (
        Break("scans are not counted", 31, "service.media.image.parts", values(MAX_SCANS=1 << 30)),
        Break("chunks have no bound", 31, "service.media.image.parts", values(MAX_PARTS=1 << 30)),
        Break(
            "run-length coded images have no bound",
            31,
            "service.media.image.parts",
            values(MAX_RUN_BYTES=1 << 40, MAX_RUN_PIXELS=1 << 40),
        ),
    ),
    "mutated_audio": (
        Break(SOME_ERRORS, 20, f"{READERS}.audio_reader", passing_on("read_info", OSError, ZeroDivisionError)),
        Break(OWN_FAULT, 300, AV_DECODER, refusing_as("AudioDecoder.info", "internal_error")),
    ),
    "mutated_images": (
        Break("only some of the decoder's errors are caught", 20_000, CUT, passing_on("_loaded", OSError, SyntaxError)),
        Break("Pillow's warnings are printed", 20_000, CUT, _warnings_are_printed),
    ),
    "mutated_pdfs": (
        Break("PDFium's errors are not caught", 300, f"{READERS}.page_reader", passing_on("open_pdf", ValueError)),
        Break(
            "a PDF that cannot be read is our own fault",
            300,
            "service.decode.page_decoder",
            refusing_as("PageDecoder.info", "internal_error"),
        ),
    ),
    "mutated_tensors": (
        Break("two number formats are taken for each other", 20_000, SAFETENSORS, _other_formats),
        Break("numbers that are not finite pass", 20_000, FEATURES, gives("first_beyond", None)),
        Break("columns first is read as rows first", 60_000, "service.media.features.npy_file", _columns_as_rows),
    ),
    "mutated_videos": (
        Break(
            SOME_ERRORS,
            20,
            f"{READERS}.video_reader",
            passing_on("OpenVideoFile.__init__", OSError, ZeroDivisionError),
        ),
        Break(OWN_FAULT, 300, AV_DECODER, refusing_as("VideoDecoder.info", "internal_error")),
    ),
    "optimized": (
        Break(
            "a check of what a client sent is an assert",
            1,
            "service.media.source",
            around("read_source", _empty_passes_without_asserts),
        ),
    ),
    "paths": (
        Break("the path is checked, then opened", 10_000, LOCAL, around("LocalFiles._open", _checked_then_opened)),
        Break("links are followed at the end", 100, LOCAL, _flags(_OPEN=os.O_NOFOLLOW)),
        Break("links are followed on the way", 100, LOCAL, _flags(_STEP=os.O_NOFOLLOW)),
        Break("paths may climb", 100, LOCAL, _may_climb),
        Break("a pipe is waited for", 100, LOCAL, _flags(_OPEN=os.O_NONBLOCK)),
    ),
    "shared_media_hosts": (
        Break(
            "slots of a host are first come, first served",
            3,
            "service.media.fetch.slots",
            then("Gate.__init__", lambda self, *_: setattr(self, "_num_kept", 0)),
        ),
        Break(
            "a host may drip for as long as a fetch may take",
            3,
            "service.media.fetch.exchange",
            around("Exchange._receive", _drips),
        ),
    ),
    "ssrf": (
        Break("one good address is enough", 100, FETCHER, around("Fetcher._judged_addresses", _any_address)),
        Break(
            "a name is looked up again once it was judged",
            100,
            FETCHER,
            around("Fetcher._judged_addresses", _looked_up_again),
        ),
        Break("a redirect's port is not checked", 400, FETCHER, _unchecked_redirect),
        Break("the client is told the cause", 40, FETCHER, _told_cause),
        Break("link-local is missing in the table", 400, ADDRESS, around("classify", _no_link_local)),
        Break("translated addresses are not seen through", 400, ADDRESS, _not_seen_through),
    ),
    "tensor_attacks": (
        Break("features of another model pass", 80, FEATURES, around("read_tensor_file", _of_no_model)),
        Break("a key may be there twice", 80, SAFETENSORS, around("_unique", lambda _: dict)),
        Break("grids may have any number of frames", 80, FEATURES, around("_checked", _any_frames)),
    ),
    "worker_memory": (
        Break(
            "memory is not looked at",
            9,
            "service.workers.worker_process",
            around("WorkerSlot.num_held_bytes", lambda _: property(lambda slot: 0)),
        ),
    ),
}
