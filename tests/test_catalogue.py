"""The catalogue, its judges and the platform profiles fit together, and every text that a rule needs is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gonogo
from gonogo import catalogue, catalogue_source, ranges
from gonogo.finding import IMPACTS
from gonogo.known import Known

PACKAGE = Path(gonogo.__file__).parent
GOTCHAS = [f"G{number}" for number in range(1, 22)]
CODE = re.compile(r"^G\d+\.[a-z-]+$")
#: Codes of every gotcha, whose message says all there is to say.
OF_ALL = ("ok", "skipped", "unknown")


def entries() -> dict[str, Any]:
    return catalogue_source.read()["gotchas"]


def literals(node: ast.AST) -> Iterator[str]:
    for item in ast.walk(node):
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield item.value


def judges(entry: dict[str, Any]) -> list[Path]:
    folder = PACKAGE / "gotchas" / entry["package"]
    return [path for path in folder.glob("*.py") if path.name != "__init__.py"]


def emitted(entry: dict[str, Any]) -> set[str]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in judges(entry)]
    dated = {f"{entry['id']}.{row['code']}" for row in entry.get("known", ())}
    told = {f"{entry['id']}.{row['code']}" for row in catalogue_source.read_signatures().get(entry["id"], ())}
    return {text for tree in trees for text in literals(tree) if CODE.match(text)} | dated | told


# -- the generated module ---------------------------------------------------------------------------------------------


def test_the_generated_module_is_what_the_files_say() -> None:
    from gonogo import _catalogue

    assert catalogue_source.read() == _catalogue.DATA
    # Order counts: it is the order of the reports.
    assert list(_catalogue.DATA["gotchas"]) == GOTCHAS
    assert catalogue.data() == _catalogue.DATA


def test_the_generator_writes_what_it_reads(tmp_path: Path) -> None:
    for folder in ("gotchas", "platforms", "logs"):
        for path in (PACKAGE / folder).rglob("*"):
            if path.is_file() and path.suffix in (".toml", ".py"):
                copy = tmp_path / path.relative_to(PACKAGE)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    catalogue_source.write(tmp_path)
    for name, expected in (
        ("_catalogue", catalogue_source.read()),
        ("_signatures", catalogue_source.read_signatures()),
    ):
        namespace: dict[str, Any] = {}
        exec((tmp_path / f"{name}.py").read_text(encoding="utf-8"), namespace)
        assert namespace["DATA"] == expected


# -- gotchas ----------------------------------------------------------------------------------------------------------


def test_every_number_once() -> None:
    folders = sorted(path.parent.name for path in PACKAGE.glob("gotchas/*/gotcha.toml"))
    ids = [entry["id"] for entry in map(catalogue_source._toml, PACKAGE.glob("gotchas/*/gotcha.toml"))]
    assert sorted(ids) == sorted(GOTCHAS)
    assert [f"G{int(folder[1:3])}" for folder in folders] == GOTCHAS
    for gotcha, entry in entries().items():
        assert entry["package"].startswith(f"g{int(gotcha[1:]):02}_"), entry["package"]


@pytest.mark.parametrize("gotcha", GOTCHAS)
def test_the_story_is_whole(gotcha: str) -> None:
    entry = entries()[gotcha]
    for part in ("title", "symptom", "cause", "check", "fix", "evidence", "not_a_fault"):
        assert entry[part].strip() == entry[part] != "", part
    assert isinstance(entry["claim"], str)
    assert len(entry["title"]) <= 60
    assert re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])", entry["verified"])
    assert entry["sources"]
    assert all(source.strip() for source in entry["sources"])
    known = {"id", "title", "symptom", "cause", "check", "fix", "claim", "evidence", "not_a_fault"}
    assert set(entry) <= known | {"verified", "sources", "code", "package", "parts", "known"}


@pytest.mark.parametrize("gotcha", GOTCHAS)
def test_codes_and_judges_match(gotcha: str) -> None:
    entry = entries()[gotcha]
    found, explained = emitted(entry), {f"{gotcha}.{name}" for name in entry.get("code", {})}
    general = {f"{gotcha}.{name}" for name in OF_ALL}
    assert found - general == explained
    assert all(CODE.match(code) for code in explained)
    assert not explained & general


def graves(entry: dict[str, Any]) -> set[str]:
    """Codes that a judge gives with WARN or FAIL: both words stand in one call, tuple or assignment."""
    found = set()
    for path in judges(entry):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Call, ast.Tuple, ast.Assign)):
                names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
                codes = {text for text in literals(node) if CODE.match(text)}
                # A node that holds several codes holds smaller nodes with one each.
                if len(codes) == 1 and names & {"WARN", "FAIL"}:
                    found |= codes
    found |= {f"{entry['id']}.{row['code']}" for row in entry.get("known", ()) if row["status"] in ("WARN", "FAIL")}
    # Where the status is worked out beforehand no name stands beside the code: then the code's own title tells.
    return found - {f"{entry['id']}.{name}" for name in OF_ALL}


def test_grave_codes_are_found() -> None:
    # Some known by hand, so that the search above is known to find them in each of its forms.
    everything = set().union(*(graves(entry) for entry in entries().values()))
    assert {
        "G1.unresolved-library",
        "G1.runtime-newer-than-driver",
        "G1.leftover-runtime",
        "G3.plan-does-not-fit",
        "G3.memory-pressure",
        "G4.thermal-slowdown",
        "G4.looks-stuck",
        "G9.drift",
        "G12.cpu-only",
    } <= everything


@pytest.mark.parametrize("gotcha", GOTCHAS)
def test_what_can_warn_or_fail_has_a_remedy(gotcha: str) -> None:
    entry = entries()[gotcha]
    for code in graves(entry):
        assert entry["code"][code.partition(".")[2]].get("fix"), code


@pytest.mark.parametrize("gotcha", GOTCHAS)
def test_codes_and_their_steps_are_whole(gotcha: str) -> None:
    for name, code in entries()[gotcha].get("code", {}).items():
        assert set(code) <= {"title", "fix"}, name
        assert code["title"].strip(), name
        for step in code.get("fix", ()):
            assert set(step) <= {"step", "impact", "undo"}, name
            assert step["step"].strip(), name
            assert step["impact"] in IMPACTS, name
            if step["impact"] == "reversible":
                assert step.get("undo", "").strip(), name
            if step["impact"] == "none":
                assert not step.get("undo"), name


@pytest.mark.parametrize("gotcha", GOTCHAS)
def test_every_placeholder_of_a_remedy_is_filled_by_a_judge(gotcha: str) -> None:
    # A step with one that nobody fills would never be shown.
    entry = entries()[gotcha]
    files = [*judges(entry), *(PACKAGE / "platforms").glob("*.py")]
    texts = {text for path in files for text in literals(ast.parse(path.read_text(encoding="utf-8")))}
    rows = catalogue_source.read_signatures().get(gotcha, ())
    texts |= {name for row in rows for name in re.findall(r"\(\?P<([a-z_]+)>", row["pattern"])}
    for name, code in entry.get("code", {}).items():
        for step in code.get("fix", ()):
            fields = re.findall(r"\{([a-z_]+)\}", step["step"] + step.get("undo", ""))
            assert set(fields) <= texts, name


def test_explained_in_the_judges_only_once() -> None:
    # A remedy written in a judge as well would be the same rule in two places.
    for entry in entries().values():
        steps = {row["step"] for code in entry.get("code", {}).values() for row in code.get("fix", ())}
        for path in judges(entry):
            assert not steps & set(literals(ast.parse(path.read_text(encoding="utf-8")))), path


# -- dated data -------------------------------------------------------------------------------------------------------


def dated() -> list[Any]:
    rows = [(gotcha, row) for gotcha, entry in entries().items() for row in entry.get("known", ())]
    return [pytest.param(gotcha, row, id=f"{gotcha}-{row['subject']}-{row['range']}") for gotcha, row in rows]


@pytest.mark.parametrize(("gotcha", "row"), dated())
def test_a_row_of_dated_data_is_whole(gotcha: str, row: dict[str, Any]) -> None:
    assert Known(**row).code in entries()[gotcha]["code"]
    ranges.clauses(row["range"])
    if "unless" in row:
        ranges.clauses(row["unless"]["range"])
    assert re.fullmatch(
        r"kernel|driver|libcuda|cuda|ota|bios|(pip|dpkg):[a-z0-9][a-z0-9.+-]*|image:[a-z0-9_]+", row["subject"]
    )
    assert row["status"] in ("INFO", "WARN", "FAIL")
    assert re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])", row["verified"])
    assert row["text"].strip() and row["source"].strip()
    assert row.get("where", "") in ("", "unified", *platforms())


# -- platforms --------------------------------------------------------------------------------------------------------


def platforms() -> dict[str, Any]:
    return catalogue_source.read()["platforms"]


def test_platforms_cannot_be_mistaken_for_each_other() -> None:
    profiles = platforms()
    assert "gb10" in profiles
    for kind in ("pci_ids", "names"):
        rows = [item for profile in profiles.values() for item in profile.get("match", {}).get(kind, ())]
        assert len(rows) == len(set(rows)), kind
    for key, profile in profiles.items():
        assert profile["id"] == key
        for pci in profile["match"]["pci_ids"]:
            assert re.fullmatch(r"10de:[0-9a-f]{4}", pci), key
        assert profile["match"]["pci_ids"] or profile["match"]["names"]
    assert [key for key, profile in profiles.items() if profile.get("is_spark")] == ["gb10"]
    assert not {"generic", "none"} & set(profiles)  # names of what has no profile


@pytest.mark.parametrize("key", sorted(platforms()))
def test_a_platform_says_where_its_figures_are_from(key: str) -> None:
    profile = platforms()[key]
    assert profile["title"].strip()
    assert re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])", profile["verified"])
    assert profile["sources"]
    assert re.fullmatch(r"[0-9]{1,2}\.[0-9]", profile["compute_capability"])
    assert profile["memory"] in ("unified", "discrete")
    for name, row in profile.get("threshold", {}).items():
        assert set(row) == {"value", "source"}, name
        assert isinstance(row["value"], (int, float)), name
        assert row["source"].strip(), name
        # The unit is in the name.
        assert name.rpartition("_")[2] in ("gib", "percent", "mhz", "watts", "celsius"), name


def test_every_threshold_is_used_and_every_used_one_exists() -> None:
    defined = {name for profile in platforms().values() for name in profile.get("threshold", {})}
    files = [*PACKAGE.glob("gotchas/*/*.py"), *PACKAGE.glob("platforms/*.py")]
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    assert {name for name in defined if f'"{name}"' not in source} == set()
    asked = set(re.findall(r"threshold\(\"([a-z_]+)\"\)", source))
    assert asked <= defined


# -- import directions ------------------------------------------------------------------------------------------------


def imports(path: Path) -> set[str]:
    """The absolute names of all modules that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name != "_catalogue.py")


def test_the_node_imports_nothing_of_gonogo_but_itself() -> None:
    # gonogo/__init__.py travels with it and holds the version.
    allowed = ("gonogo.node.", "gonogo.__version__.")
    for path in (PACKAGE / "node").rglob("*.py"):
        own = {name for name in imports(path) if name.split(".")[0] == "gonogo"} - {"gonogo"}
        assert {name for name in own if not f"{name}.".startswith(allowed)} == set(), path


def test_nobody_imports_torch() -> None:
    for path in sources():
        roots = {name.split(".")[0] for name in imports(path)}
        assert not roots & {"torch", "numpy", "triton", "vllm", "transformers"}, path


def test_dependencies_are_those_declared() -> None:
    import sys

    allowed = {
        *sys.stdlib_module_names,
        "tomllib",
        "gonogo",
        "pynvml",
        "tomli",
        "ahocorasick_rs",
        "zstandard",
        "compression",
    }
    for path in sources():
        assert {name.split(".")[0] for name in imports(path)} <= allowed, path
