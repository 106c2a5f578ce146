"""Errors of this package that a person can do something about."""

from specdec_core.models.prompt import clean


class PairError(ValueError):
    """A pair cannot be used; the message names the folder and what is wrong with it.

    Names of files may hold bytes that are no text; they are replaced, so that the message can be shown.

    Example:
        >>> str(PairError("a\\udcff.txt leads elsewhere"))
        'a\ufffd.txt leads elsewhere'
    """

    def __init__(self, message: str) -> None:
        super().__init__(clean(message))
