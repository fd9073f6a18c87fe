"""The rule of a model for the sample rate and the length of audio."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioRule:
    """The numbers of one family; all of them are part of an audio file's keys.

    Attributes:
        rate_hz: samples a second.
        crop_samples: longer audio is cropped to so many samples in its middle; None keeps all.
    """

    rate_hz: int
    crop_samples: int | None = None

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """Both numbers."""
        return tuple(number.to_bytes(8, "little") for number in (self.rate_hz, self.crop_samples or 0))

    def crop(self, num_samples: int) -> tuple[int, int]:
        """Return the first sample and the number of samples kept: ``start = (num_samples - crop_samples) // 2``.

        transformers takes a random place. One that is always the same keeps a vector the same, and audio cached.

        Source: transformers 5.23 `ClapFeatureExtractor._get_input_mel`, "rand_trunc".
        """
        if self.crop_samples is None or num_samples <= self.crop_samples:
            return 0, num_samples
        return (num_samples - self.crop_samples) // 2, self.crop_samples
