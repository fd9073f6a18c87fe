"""`MediaReader`: reads the media of one request; images by their content or by the `uuid` that a client gave them.

Runs in a worker thread. A `uuid` is bound only when the request has been answered, so that a broken image never keeps
one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from schemas.content.parts import ImageEmbedsPart, ImageSource, ImageUrlPart
from schemas.errors import MissingMedia
from service.errors import CacheMissError, ConflictError, InputError, MediaError
from service.front.inputs.checking import refuse_modality
from service.front.inputs.uuids import Uuids
from service.front.job import ImagePart, PlacedMedia
from service.front.tenant import Tenant
from service.media.audio.audio_file import OpenAudio
from service.media.error_location import ErrorLocation
from service.media.features.features import FeatureRule, open_features
from service.media.image.header import DecodeLimits
from service.media.image.image_file import ImageFile, open_image
from service.media.item import AS_REFERENCE, ImageReadOptions, parse_color
from service.media.local_file import LocalFiles
from service.media.media_item import MediaItem
from service.media.page.page_file import OpenPage
from service.media.source import SourceKind, read_source, scheme_of
from service.media.video.video_file import OpenVideo
from service.prompt.profile.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRules:
    """Media that one server accepts for one model, and how it reads them.

    Attributes:
        profile: the model's: what media it takes, as far as the server goes with it, and how they are resized.
        features: what features sent in place of images must look like.
        limits: what images are refused.
        uuids: what clients' names for images stand for.
        read_options: how images are read where a request does not say.
        local_files: reads `file:` URLs; None refuses them.
    """

    profile: Profile
    features: FeatureRule
    limits: DecodeLimits
    uuids: Uuids
    read_options: ImageReadOptions = AS_REFERENCE
    local_files: LocalFiles | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A name that came with its content, in the input `index`."""

    index: int
    uuid: str
    item: MediaItem


class MediaReader:
    """Reads the media of one request of one tenant.

    Attributes:
        salt: part of every key: keeps tenants apart.
        claims: names that came with content so far.
        fetched: what the request's URLs gave, put here before anything is read.
        opened: its videos, audio files and PDFs by the paths of their parts, put here before anything is read.
    """

    def __init__(self, rules: MediaRules, tenant: Tenant, background: str = "") -> None:
        """Read by the server's rules, or over the request's own `background` (`#rrggbb`)."""
        options = rules.read_options
        self._rules = rules
        self._uuids, self._tenant = rules.uuids, tenant.uuid_scope
        self._has_background = bool(background)
        self.options = replace(options, background=parse_color(background)) if background else options
        self.limits = rules.limits
        self.salt = tenant.salt
        self.profile = rules.profile
        self.claims: list[Claim] = []
        self.fetched: dict[str, bytes | MediaError] = {}
        self.opened: dict[str, OpenVideo | OpenAudio | OpenPage | MediaError] = {}

    def names_to_ask(self, places: Iterable[PlacedMedia]) -> set[str]:
        """Names of which another front may know more: those unknown here, and those that come with features.

        Features count as an image once they have been made from it, at any front.
        """
        parts = [place.part for place in places]
        named = {part.uuid: part for part in parts if isinstance(part, ImagePart) and part.uuid is not None}
        return {
            uuid
            for uuid, part in named.items()
            if (isinstance(part, ImageEmbedsPart) and part.image_embeds) or not self._uuids.find(self._tenant, uuid)
        }

    def check_known(self, places: Iterable[PlacedMedia]) -> None:
        """Refuse names without content that neither the store nor an earlier part of the request knows.

        Raises:
            CacheMissError: with all of them.
            InputError: there is an image, and the model takes none.
        """
        named = {claim.uuid for claim in self.claims}
        missing = []
        for place in places:
            part = place.part
            if not isinstance(part, ImagePart):
                continue
            if self.profile.images is None:
                refuse_modality("an image", self.profile.modalities, place.content_param, place.index)
            if part.uuid is None:
                continue
            if (part.image_url if isinstance(part, ImageUrlPart) else part.image_embeds) is not None:
                named.add(part.uuid)
            elif part.uuid not in named and self._uuids.find(self._tenant, part.uuid) is None:
                missing.append(MissingMedia(uuid=part.uuid, param=place.param, index=place.index))
        if missing:
            raise CacheMissError(missing)

    def read(self, place: PlacedMedia) -> Sequence[MediaItem]:
        """The image of a part; the images, where one tensor holds the features of several.

        Raises:
            MediaError: the content is at fault.
            CacheMissError: a name has been forgotten since `check_known`.
            ConflictError: the name that came with the content stands for other content.
            InputError: the part has neither content nor name.
        """
        part, location = place.part, ErrorLocation(place.content_param, place.index)
        assert isinstance(part, ImagePart)  # `videos` and `opened_files` read the others
        assert self.profile.images is not None  # `check_known` comes first
        items: Sequence[MediaItem]
        if isinstance(part, ImageUrlPart) and part.image_url is not None:
            encoded, rule = self.encoded(url_of(part.image_url), location), self.profile.images.pixel_rule
            items = [open_image(encoded, self.limits, rule, location, options=self.options, salt=self.salt)]
        elif isinstance(part, ImageEmbedsPart) and part.image_embeds is not None:
            text, grids = part.image_embeds.image_embeds, part.image_embeds.image_grid_thw
            items = open_features(text, grids, self._rules.features, location, salt=self.salt)
        else:
            return [self._named(part, place)]
        if part.uuid is not None:
            self._claim(part.uuid, items, place)
        return items

    def bind(self, answered: set[int]) -> None:
        """Bind the names of the inputs that were answered, by their indexes."""
        for claim in self.claims:
            if claim.index in answered:
                self._uuids.bind(self._tenant, claim.uuid, claim.item)

    def encoded(self, url: str, location: ErrorLocation, *, max_bytes: int = 0, what: SourceKind = "image") -> bytes:
        """The bytes of an image or video: fetched already, of a local file, or in the text itself.

        Args:
            max_bytes: largest file accepted; 0 for an image's limit.

        Raises:
            MediaError: they are not there, or too many.
        """
        fetched = self.fetched.get(url) if self.fetched else None
        if isinstance(fetched, MediaError):
            location.refuse(fetched.code, fetched.message)
        if fetched is not None:
            return fetched
        max_bytes = max_bytes or self.limits.max_encoded_bytes
        local_files = self._rules.local_files
        if local_files is not None and scheme_of(url) == "file":
            return local_files.read(url, max_bytes=max_bytes, location=location)
        return read_source(url, max_bytes=max_bytes, location=location, what=what)

    def _named(self, part: ImagePart, place: PlacedMedia) -> MediaItem:
        """The image that a name stands for, over the background that this request asks for."""
        if part.uuid is None:
            message = f"`{place.content_param}`: expected an image, or a known `uuid` beside it, got neither"
            raise InputError("invalid_request", message, param=place.content_param, index=place.index)
        item = next((claim.item for claim in self.claims if claim.uuid == part.uuid), None)
        if item is None:
            bound = self._uuids.find(self._tenant, part.uuid)
            if bound is None:
                raise CacheMissError([MissingMedia(uuid=part.uuid, param=place.param, index=place.index)])
            item = bound.item
        if self._has_background and isinstance(part, ImageUrlPart) and isinstance(item, ImageFile):
            assert self.profile.images is not None  # as in `read`
            item = item.read_as(self.options, self.profile.images.pixel_rule)
        return item.at(ErrorLocation(place.content_param, place.index))

    def _claim(self, uuid: str, items: Sequence[MediaItem], place: PlacedMedia) -> None:
        if len(items) != 1:
            message = f"`{place.param}.uuid`: got a name for {len(items)} images in one tensor; a name stands for one"
            raise InputError("invalid_request", message, param=f"{place.param}.uuid", index=place.index)
        (item,) = items
        bound = self._uuids.find(self._tenant, uuid)
        known = set(bound.identities) if bound else set()
        known |= {claim.item.identity for claim in self.claims if claim.uuid == uuid}
        if known and item.identity not in known:
            message = f"`{place.param}.uuid`: got a name that stands for other content; give this image another name"
            raise ConflictError("uuid_conflict", message, param=f"{place.param}.uuid", index=place.index)
        self.claims.append(Claim(place.index, uuid, item))


def url_of(source: ImageSource) -> str:
    """Return the URL of an image's source, in either of its two forms."""
    return source if isinstance(source, str) else source.url
