"""How a command ends, whether it returns or exits."""

from collections.abc import Callable


def code_of(command: Callable[[], int]) -> int:
    """The exit code that a shell would see."""
    try:
        return command()
    except SystemExit as ending:
        return int(ending.code or 0)
