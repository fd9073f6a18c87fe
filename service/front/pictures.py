"""The pictures of one request, files and features: from content parts, by their content or by a client's name for it.

Runs in a worker thread. Nothing is bound to a name here: that is done when the request has been answered, so that a
broken picture never keeps a name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from schemas.content import ImageEmbedsPart, ImageSource, ImageUrlPart
from schemas.errors import MissingMedia
from service.errors import CacheMissError, ConflictError, InputError, MediaError
from service.front.modality import refuse_modality
from service.front.place import PicturePart, Place
from service.front.uuids import UuidStore
from service.media.blame import Blame
from service.media.clip import OpenClip
from service.media.features import FeatureRule, open_features
from service.media.header import DecodeLimits
from service.media.item import MediaItem, open_image
from service.media.local_file import LocalFiles
from service.media.picture import Picture
from service.media.picture_rule import PictureRule
from service.media.reading import AS_REFERENCE, Color, Reading
from service.media.sound_file import OpenSound
from service.media.sound_rule import SoundRule
from service.media.source import What, read_source, scheme_of
from service.media.video_rule import VideoRule
from service.prompt.profile import Modality


@dataclass(frozen=True, slots=True)
class Claim:
    """A name that came with its content, in the input `index`."""

    index: int
    uuid: str
    item: Picture


class PictureReader:
    """Reads the pictures of one request of one tenant.

    Attributes:
        limits: what is refused.
        reading: how files are read.
        salt: part of every key: keeps tenants apart.
        modalities: what the model takes.
        video_rule: which frames of a video are seen; None where the model takes no video.
        sound_rule: how sounds are heard; None where the model takes none.
        claims: names that came with content so far.
        fetched: what the request's URLs gave, put here before anything is read.
        clips: what its video files are, by the paths of their parts; likewise.
        sounds: what its sounds are; likewise.
        tenant: whose request it is.
    """

    def __init__(
        self,
        rule: PictureRule | None,
        features: FeatureRule,
        limits: DecodeLimits,
        uuids: UuidStore,
        tenant: bytes,
        local_files: LocalFiles | None = None,
        *,
        reading: Reading = AS_REFERENCE,
        background: Color | None = None,
        salt: bytes = b"",
        modalities: Sequence[Modality] = ("text", "image"),
        video_rule: VideoRule | None = None,
        sound_rule: SoundRule | None = None,
    ) -> None:
        """Read with the server's `reading`, or over the request's own `background`; `salt` keeps tenants apart.

        Without a `rule` every picture is refused.
        """
        self._rule = rule
        self._features = features
        self.limits = limits
        self._uuids = uuids
        self._tenant = tenant
        self.reading = reading if background is None else replace(reading, background=background)
        self._has_background = background is not None
        self.salt = salt
        self.modalities = modalities
        self.video_rule, self.sound_rule = video_rule, sound_rule
        self._local_files = local_files
        self.claims: list[Claim] = []
        self.fetched: dict[str, bytes | MediaError] = {}
        self.clips: dict[str, OpenClip | MediaError] = {}
        self.sounds: dict[str, OpenSound | MediaError] = {}

    @property
    def sees(self) -> bool:
        """Whether the model takes pictures."""
        return self._rule is not None

    def check_known(self, places: Iterable[Place]) -> None:
        """Refuse names without content that neither the store nor an earlier part of the request knows.

        Raises:
            CacheMissError: with all of them.
            InputError: there is a picture, and the model takes none.
        """
        named = {claim.uuid for claim in self.claims}
        missing = []
        for place in places:
            part = place.part
            if not isinstance(part, PicturePart):
                continue
            self._rule_for(place)
            uuid = part.uuid
            if uuid is None:
                continue
            if _has_content(part):
                named.add(uuid)
            elif uuid not in named and self._uuids.find(self._tenant, uuid) is None:
                missing.append(MissingMedia(uuid=uuid, param=place.param, index=place.index))
        if missing:
            raise CacheMissError(missing)

    def read(self, place: Place) -> list[Picture]:
        """The picture of a part; the pictures, where one tensor holds the features of several.

        Raises:
            MediaError: the content is at fault.
            CacheMissError: a name has been forgotten since `check_known`.
            ConflictError: the name that came with the content stands for other content.
            InputError: the part has neither content nor name.
        """
        part = place.part
        assert isinstance(part, PicturePart)  # `videos.read_video` reads the others
        uuid = part.uuid
        if not _has_content(part):
            if uuid is None:
                message = f"`{place.content_param}`: expected a picture, or a known `uuid` beside it, got neither"
                raise InputError("invalid_request", message, param=place.content_param, index=place.index)
            item = self._read_again(self._named(uuid, place), place)
            return [item.at(place.content_param, place.index)]
        items = self._open(place)
        if uuid is not None:
            self._claim(uuid, items, place)
        return items

    def bind(self, answered: set[int]) -> None:
        """Bind the names of the inputs that were answered.

        Args:
            answered: their indexes.
        """
        for claim in self.claims:
            if claim.index in answered:
                self._uuids.bind(self._tenant, claim.uuid, claim.item)

    def _open(self, place: Place) -> list[Picture]:
        part, param = place.part, place.content_param
        if isinstance(part, ImageEmbedsPart):
            assert part.image_embeds is not None  # `read` opens only what has content
            text, grids = part.image_embeds.image_embeds, part.image_embeds.image_grid_thw
            opened = open_features(text, grids, self._features, param=param, index=place.index, salt=self.salt)
            return [*opened]
        assert isinstance(part, ImageUrlPart)  # as in `read`
        assert part.image_url is not None  # as above
        encoded = self.encoded(url_of(part.image_url), param, place.index)
        opened_at = partial(open_image, encoded, self.limits, self._rule_for(place), param, place.index)
        return [opened_at(reading=self.reading, salt=self.salt)]

    def _rule_for(self, place: Place) -> PictureRule:
        """How the model's pictures are resized; an error where it has none."""
        if self._rule is None:
            refuse_modality("a picture", self.modalities, place.content_param, place.index)
        return self._rule

    def _read_again(self, item: Picture, place: Place) -> Picture:
        """A named picture over the background that this request asks for; else as it was read when it was named."""
        if self._has_background and isinstance(place.part, ImageUrlPart) and isinstance(item, MediaItem):
            return item.read_as(self.reading, self._rule_for(place))
        return item

    def encoded(self, url: str, param: str, index: int, *, max_bytes: int = 0, what: What = "image") -> bytes:
        """The bytes of a picture or video: fetched already, of a local file, or in the text itself.

        Args:
            url: its source.
            param: path of the field, for errors.
            index: its input.
            max_bytes: largest file accepted; 0 for a picture's limit.
            what: it is, for errors.

        Raises:
            MediaError: they are not there, or too many.
        """
        fetched = self.fetched.get(url) if self.fetched else None
        if isinstance(fetched, MediaError):
            Blame(param, index).refuse(fetched.code, fetched.message)
        if fetched is not None:
            return fetched
        max_bytes = max_bytes or self.limits.max_encoded_bytes
        if self._local_files is not None and scheme_of(url) == "file":
            return self._local_files.read(url, max_bytes=max_bytes, param=param, index=index)
        return read_source(url, max_bytes=max_bytes, param=param, index=index, what=what)

    def _named(self, uuid: str, place: Place) -> Picture:
        for claim in self.claims:
            if claim.uuid == uuid:
                return claim.item
        bound = self._uuids.find(self._tenant, uuid)
        if bound is None:
            raise CacheMissError([MissingMedia(uuid=uuid, param=place.param, index=place.index)])
        return bound.item

    def _claim(self, uuid: str, items: list[Picture], place: Place) -> None:
        if len(items) != 1:
            message = f"`{place.param}.uuid`: got a name for {len(items)} pictures in one tensor; a name stands for one"
            raise InputError("invalid_request", message, param=f"{place.param}.uuid", index=place.index)
        (item,) = items
        bound = self._uuids.find(self._tenant, uuid)
        known = set(bound.identities) if bound else set()
        known |= {claim.item.identity for claim in self.claims if claim.uuid == uuid}
        if known and item.identity not in known:
            message = f"`{place.param}.uuid`: got a name that stands for other content; give this picture another name"
            raise ConflictError("uuid_conflict", message, param=f"{place.param}.uuid", index=place.index)
        self.claims.append(Claim(place.index, uuid, item))


def url_of(source: ImageSource) -> str:
    """What a picture's source says, whichever of its two forms it has."""
    return source if isinstance(source, str) else source.url


def _has_content(part: PicturePart) -> bool:
    return (part.image_url if isinstance(part, ImageUrlPart) else part.image_embeds) is not None
