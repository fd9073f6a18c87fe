"""Checks of one input beside its media and its length, when its prompt is made."""

from collections.abc import Sequence

from service.front.inputs.data_uris import refuse_media_uris
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.sources import check_texts
from service.front.job import Job, JobInput
from service.prompt.profile.profile import Modality


def check_input(job: Job, one: JobInput, media: MediaReader | None, index: int, taken: Sequence[Modality]) -> None:
    """Raise what is wrong with an input; of jobs that are not `per_item`, what has not been checked for all together.

    Args:
        taken: what the model takes.

    Raises:
        ServiceError: `one.error`, a text that is not Unicode or is a medium's data URI, or a name that is not known.
    """
    if job.per_item:
        check_texts(one.source, one.param, index)
        if one.error is not None:
            raise one.error
        if media is not None:
            media.check_known(one.media)
    refuse_media_uris(one.source, taken, one.param, index)
