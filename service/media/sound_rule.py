"""At which rate a model hears sounds, and how much of one. Numbers of a family; knows no file and no sample."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundRule:
    """The numbers of one family; all of them are part of a sound's keys.

    Attributes:
        rate_hz: samples a second.
        crop_samples: of a longer sound only so many are heard, those in its middle; None: all are.
    """

    rate_hz: int
    crop_samples: int | None = None

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """Both numbers."""
        return tuple(number.to_bytes(8, "little") for number in (self.rate_hz, self.crop_samples or 0))

    def crop(self, num_samples: int) -> tuple[int, int]:
        """First sample and number of those that are heard: ``start = (num_samples - crop_samples) // 2``.

        transformers takes a random place. One that is always the same keeps a vector the same, and a sound cached.

        Args:
            num_samples: of the whole sound, at `rate_hz`.

        Source: transformers 5.23 `ClapFeatureExtractor._get_input_mel`, "rand_trunc".
        """
        if self.crop_samples is None or num_samples <= self.crop_samples:
            return 0, num_samples
        return (num_samples - self.crop_samples) // 2, self.crop_samples
