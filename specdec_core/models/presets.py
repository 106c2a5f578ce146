"""The pairs that ``assets/pairs.toml`` describes, or a plain word on what is wrong with that file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specdec_core.models.packages import Package
from specdec_core.models.specs import Expected, ModelRef, PairSpec

MODEL_FIELDS = {"title": str, "parameters": int, "licence": str, "folder": str, "hub": str, "gated": bool}
PACKAGE_FIELDS = {"requirement": str, "sha256": str, "bytes": int, "member": str}
PAIR_FIELDS = {
    "title": str,
    "summary": str,
    "teaches": str,
    "target": str,
    "draft": str,
    "memory_gib": float,
    "acceptance": list,
    "acceptance_source": str,
    "dtype": str,
}
DTYPES = ("float32", "bfloat16", "float16")
GIB = 1 << 30


class PresetError(ValueError):
    """The file is not as it should be; the message names the entry and the field."""


def read_presets(path: Path, shipped: Path) -> dict[str, PairSpec]:
    """The pairs of a file, by key, in the file's order.

    Args:
        path: the TOML file; its own head describes the format.
        shipped: folder that holds the models which ship with the project.

    Raises:
        PresetError: naming the entry and the field that is wrong.
        OSError: the file cannot be read.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise PresetError(f"{path.name}: {error}") from error
    tables = _tables(content, "models")
    models = {key: _model(f"models.{key}", key, fields, shipped) for key, fields in tables.items()}
    tables = _tables(content, "pairs")
    return {key: _pair(f"pairs.{key}", key, fields, models) for key, fields in tables.items()}


def _tables(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    tables = content.get(name)
    if not isinstance(tables, dict) or not tables:
        raise PresetError(f"[{name}]: there is none")
    for key, fields in tables.items():
        if not isinstance(fields, dict):
            raise PresetError(f"[{name}.{key}]: must be a table of fields")
    return tables


def _model(entry: str, key: str, fields: dict[str, Any], shipped: Path) -> ModelRef:
    _check(entry, {k: v for k, v in fields.items() if k != "package"}, MODEL_FIELDS)
    _need(entry, fields, "title", "parameters", "licence")
    if ("folder" in fields) == ("hub" in fields):
        raise PresetError(f"[{entry}] folder, hub: needs exactly one of the two")
    return ModelRef(
        name=key,
        title=fields["title"],
        folder=shipped / fields["folder"] if "folder" in fields else None,
        hub_id=fields.get("hub"),
        parameters=_positive(entry, "parameters", fields["parameters"]),
        licence=fields["licence"],
        gated=fields.get("gated", False),
        package=_package(f"{entry}.package", fields["package"]) if "package" in fields else None,
        shipped="folder" in fields,
    )


def _package(entry: str, fields: Any) -> Package:
    if not isinstance(fields, dict):
        raise PresetError(f"[{entry}]: must be a table of fields")
    _check(entry, fields, PACKAGE_FIELDS)
    _need(entry, fields, *PACKAGE_FIELDS)
    if "==" not in fields["requirement"]:
        raise PresetError(f"[{entry}] requirement: must pin one version, as in name==1.0")
    if len(fields["sha256"]) != 64 or set(fields["sha256"]) - set("0123456789abcdef"):
        raise PresetError(f"[{entry}] sha256: must be 64 hexadecimal digits")
    size = _positive(entry, "bytes", fields["bytes"])
    return Package(fields["requirement"], fields["sha256"], size, fields["member"])


def _pair(entry: str, key: str, fields: dict[str, Any], models: Mapping[str, ModelRef]) -> PairSpec:
    _check(entry, fields, PAIR_FIELDS)
    _need(entry, fields, "title", "summary", "teaches", "target", "memory_gib")
    target, draft = (_named(entry, role, fields, models) for role in ("target", "draft"))
    return PairSpec(
        key=key,
        title=fields["title"],
        summary=fields["summary"],
        target=target,
        draft=draft,
        licence=_licence(target, draft),
        teaches=fields["teaches"],
        memory=int(GIB * _positive(entry, "memory_gib", fields["memory_gib"])),
        expected=_expected(entry, fields) if draft else None,
        dtype=_dtype(entry, fields.get("dtype", "")),
    )


def _named(entry: str, role: str, fields: dict[str, Any], models: Mapping[str, ModelRef]) -> ModelRef | None:
    name = fields.get(role)
    if name is not None and name not in models:
        raise PresetError(f"[{entry}] {role}: there is no [models.{name}]")
    return models.get(name)


def _licence(target: ModelRef, draft: ModelRef | None) -> str:
    """The licence of both, or each with its own."""
    if draft is None or draft.licence == target.licence:
        return target.licence
    return f"{target.licence} (target), {draft.licence} (draft)"


def _expected(entry: str, fields: dict[str, Any]) -> Expected:
    _need(entry, fields, "acceptance", "acceptance_source")
    ends = fields["acceptance"]
    numbers = len(ends) == 2 and all(isinstance(end, int | float) for end in ends)
    if not numbers or not 0 <= ends[0] <= ends[1] <= 1:
        raise PresetError(f"[{entry}] acceptance: must be two rising numbers from 0 to 1, not {ends}")
    return Expected(float(ends[0]), float(ends[1]), fields["acceptance_source"])


def _dtype(entry: str, name: str) -> str:
    if name and name not in DTYPES:
        raise PresetError(f"[{entry}] dtype: must be one of {', '.join(DTYPES)}, not {name!r}")
    return name


def _check(entry: str, fields: dict[str, Any], known: Mapping[str, type]) -> None:
    """Refuse a field of another name or type than the known ones."""
    for name, value in fields.items():
        if name not in known:
            raise PresetError(f"[{entry}] {name}: unknown field; known are {', '.join(known)}")
        wanted = (int, float) if known[name] is float else known[name]
        if not isinstance(value, wanted) or (isinstance(value, bool) and known[name] is not bool):
            raise PresetError(f"[{entry}] {name}: must be {_WORDS[known[name]]}, not {value!r}")
        if value == "":
            raise PresetError(f"[{entry}] {name}: is empty")


_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


def _need(entry: str, fields: dict[str, Any], *names: str) -> None:
    for name in names:
        if name not in fields:
            raise PresetError(f"[{entry}] {name}: is missing")


def _positive(entry: str, name: str, value: float) -> float:
    if value <= 0:
        raise PresetError(f"[{entry}] {name}: must be above 0, not {value}")
    return value
