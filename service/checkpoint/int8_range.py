"""The range of each component of vectors of one length: data that front and engine share."""

import msgspec


class Int8Range(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The range of each component in the calibration set, which int8 and uint8 divide into steps."""

    minimum: list[float]
    maximum: list[float]
