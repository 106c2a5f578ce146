"""The house rules that a machine can check: layers, sizes, and what must never be written."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "specdec_core"
MODULES = sorted((ROOT / PACKAGE).rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))
SOURCES = [*MODULES, *PAGES, ROOT / "app.py"]

LAYERS = (
    {"decoding", "theory"},
    {"traces", "text", "drafting", "models"},
    {"figures", "experiments", "training"},
    {"ui"},
    {"cli", "pages", "app", "__main__"},
)
"""From the bottom up: a part may import from the layers below its own, never from above."""

SIDEWAYS = {
    ("models", "traces.trace"),
    ("training", "experiments.costs"),  # the cards' c is measured as the app's is
    ("__main__", "cli"),
}
"""The imports inside one layer that are allowed, as (part, module)."""

DATA_FORMATS_THAT_RUN_CODE = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}

DANGEROUS_OPTIONS = {
    ("trust_remote_code", True),
    ("unsafe_allow_html", True),
    ("allow_pickle", True),
    ("weights_only", False),
}


def part_of(path: Path) -> str:
    """The part of the product that a file belongs to: `decoding`, `pages`, `app`, ..."""
    names = path.relative_to(ROOT).with_suffix("").parts
    return names[1] if names[0] == PACKAGE else names[0]


def layer_of(part: str) -> int:
    return next(level for level, parts in enumerate(LAYERS) if part in parts)


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports anywhere in it, by its absolute dotted name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(path, node)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def absolute(path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = path.relative_to(ROOT).parent.parts
    return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])


def imported_parts(path: Path) -> Iterator[tuple[str, str]]:
    """(part, module inside the package) for each import of the package's own code."""
    for name in imported(path):
        top, _, inner = name.partition(".")
        if top == PACKAGE and inner:
            yield inner.split(".")[0], inner


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function's body; its docstring may be as long as it needs to be."""
    first = function.body[1:2] if ast.get_docstring(function) else function.body[:1]
    return function.end_lineno - first[0].lineno + 1 if first else 0


def tracked_text() -> Iterator[tuple[Path, str]]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        try:
            yield path, path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_imports_point_one_way(path):
    part = part_of(path)
    if part == "__init__":
        assert not list(imported_parts(path)), "the package itself imports nothing"
        return
    wrong = [
        inner
        for other, inner in imported_parts(path)
        if other != part and layer_of(other) >= layer_of(part) and not allowed_sideways(part, inner)
    ]
    assert not wrong


def allowed_sideways(part: str, inner: str) -> bool:
    return any(part == who and f"{inner}.".startswith(f"{what}.") for who, what in SIDEWAYS)


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_only_the_interface_knows_streamlit_and_plotly(path):
    tops = {module.split(".")[0] for module in imported(path)}
    if part_of(path) not in {"ui", "pages", "app"}:
        assert "streamlit" not in tops
    if part_of(path) not in {"ui", "figures"}:
        assert "plotly" not in tops


def test_the_core_loads_neither_streamlit_nor_plotly():
    core = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if part_of(path) not in {"ui", "figures", "__main__"}
    ]
    program = (
        "import importlib, sys\n"
        f"for name in {core!r}: importlib.import_module(name)\n"
        "print(sorted({'streamlit', 'plotly'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_code_runs_or_shows_what_others_wrote(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    options = {
        (keyword.arg, keyword.value.value)
        for call in calls
        for keyword in call.keywords
        if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool)
    }
    assert not named & {"eval", "exec"}
    assert not options & DANGEROUS_OPTIONS
    assert not {module.split(".")[0] for module in imported(path)} & DATA_FORMATS_THAT_RUN_CODE


@pytest.mark.parametrize("path", sorted((ROOT / "assets").rglob("*.js")), ids=name)
def test_scripts_write_text_and_never_markup(path):
    source = path.read_text(encoding="utf-8")
    writes = re.findall(r"(?:innerHTML|outerHTML)\s*\+?=(?!=)\s*(.*)", source)
    assert all(re.fullmatch(r"""(""|''|``);?""", value.strip()) for value in writes)
    assert not re.search(r"insertAdjacentHTML|document\.write|\beval\(|new Function\(", source)


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_modules_and_functions_stay_small_enough_to_read(path):
    limit = 150 if path in PAGES else 350
    assert len(path.read_text(encoding="utf-8").splitlines()) <= limit
    assert not {each.name: code_lines(each) for each in functions(path) if code_lines(each) > 60}


def test_the_repository_names_no_machine_and_no_registry():
    # Put together from halves, so that this file does not name them either.
    paths = [rf"(?<![\w./-])/{top}/" for top in ("work", "root", "home", "opt")] + ["/tmp/ven" + "v"]
    hosts = ["py" + "pi.org", "python" + "hosted", "npm" + "js.org", "deb." + "debian", "index" + "-url"]
    pattern = re.compile("|".join([*paths, *map(re.escape, hosts)]))
    found = {name(path): hit.group() for path, text in tracked_text() if (hit := pattern.search(text))}
    assert not found


def test_ruff_has_nothing_to_say():
    command = [sys.executable, "-m", "ruff", "check", "."]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_ci_runs_the_very_test_command_of_the_readme():
    commands = re.findall(r"^pip install .*&& .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert len(commands) == 2, "the README has exactly two set-up commands"
    start, test = commands
    assert start.endswith("streamlit run app.py")
    assert test in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
