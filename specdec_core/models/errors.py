"""Errors of this package that a person can do something about."""


class PairError(ValueError):
    """A pair cannot be used; the message names the folder and what is wrong with it."""
