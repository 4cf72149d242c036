"""The layout's rules, checked on the syntax trees of all files in src.

A floor imports only floors below it. Imports inside functions count, and so do those for type
checkers only. Each rule is also shown a small tree that breaks it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
# Problems that are known and on their way out, as the rules print them. It only ever shrinks.
ALLOWED: frozenset[str] = frozenset()

FLOORS = {
    "sample": 0,
    "scaffold": 0,
    "contracts": 0,
    "plugin": 1,
    "harness": 2,
    "storage": 2,
    "sessions": 2,
    "agent": 3,
    "models": 3,
    "skills": 3,
    "guards": 4,
    "release": 5,
    "chat": 6,
    "settings": 7,
    "bootstrap": 7,
    "application": 7,
    "web": 7,
    "cli": 7,
}
# The top floor holds the composition root, its settings and the two ways in.
TOP_FLOOR_IMPORTS = {
    "bootstrap": {"settings", "application"},
    "application": {"settings", "bootstrap"},
    "web": {"settings", "bootstrap", "application"},
    "cli": {"settings", "bootstrap", "application", "web"},
}
PLUGIN_MAY_IMPORT = {"contracts", "plugin", "errors"}
# No plugin: the library that the two SQL plugins share. It imports neither of them.
SQL_LIBRARY = "diagnosis_sql"
SQL_PLUGINS = {"diagnosis_mysql", "diagnosis_postgresql"}


@dataclass(frozen=True)
class Import:
    """One imported module; `names` are what is taken from it."""

    target: str
    line: int
    names: tuple[str, ...] = ()
    for_types: bool = False


@dataclass
class Module:
    """One file of the tree."""

    name: str
    path: str
    tree: ast.Module
    imports: list[Import] = field(default_factory=list)

    @property
    def package(self) -> str:
        return self.name.split(".")[0]

    @property
    def part(self) -> str:
        return part_of(self.name)

    def place(self, line: int) -> str:
        return f"{self.path}:{line}"


Tree = dict[str, Module]
Rule = Callable[[Tree], Iterator[str]]


def part_of(name: str) -> str:
    """Return what the floors are named by: the second component, "" for a package's root."""
    return f"{name}.".split(".")[1]


def read_tree(source: Path) -> Tree:
    """Read all modules of `diagnosis` and of the plugins; names are what they are imported by."""
    modules: Tree = {}
    for root in (source, source / "plugins"):
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root).with_suffix("").parts
            if inside[0] != "plugins":
                name = ".".join(inside).removesuffix(".__init__")
                where = path.relative_to(source).as_posix()
                modules[name] = Module(name, where, ast.parse(path.read_text(encoding="utf-8")))
    packages = {name.rpartition(".")[0] for name in modules}
    for module in modules.values():
        found = imports_below(module.tree, module, packages | modules.keys(), for_types=False)
        module.imports = list(found)
    return modules


def imports_below(
    node: ast.AST, module: Module, known: set[str], *, for_types: bool
) -> Iterator[Import]:
    """Yield every import of a syntax tree, those inside functions too."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import():
                for alias in child.names:
                    yield Import(alias.name, child.lineno, for_types=for_types)
            case ast.ImportFrom():
                yield from from_import(child, module, known, for_types=for_types)
            case ast.Call(
                func=ast.Name() | ast.Attribute(), args=[ast.Constant(value=str(target))]
            ):
                if ast.unparse(child.func).endswith("import_module"):
                    yield Import(target, child.lineno, for_types=for_types)
        guarded = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        yield from imports_below(child, module, known, for_types=for_types or guarded)


def from_import(
    node: ast.ImportFrom, module: Module, known: set[str], *, for_types: bool
) -> Iterator[Import]:
    """Yield the imports of one `from` statement; a submodule taken by it counts as itself."""
    target = node.module or ""
    if node.level:
        is_package = module.path.endswith("__init__.py")
        above = module.name.split(".")[: None if is_package and node.level == 1 else -node.level]
        if is_package and node.level > 1:
            above = module.name.split(".")[: 1 - node.level]
        target = ".".join([*above, *([node.module] if node.module else [])])
    submodules = [alias.name for alias in node.names if f"{target}.{alias.name}" in known]
    others = tuple(alias.name for alias in node.names if alias.name not in submodules)
    for name in submodules:
        yield Import(f"{target}.{name}", node.lineno, for_types=for_types)
    if others:
        yield Import(target, node.lineno, others, for_types)


# --- the rules: each yields its problems, one line each ---------------------------------------


def every_part_has_a_floor(tree: Tree) -> Iterator[str]:
    parts = {m.part: m for m in tree.values() if m.package == "diagnosis"}
    for part in sorted(parts.keys() - FLOORS.keys() - {"", "errors", "testing"}):
        yield f"{parts[part].path}: {part} has no floor"


def imports_point_down(tree: Tree) -> Iterator[str]:
    for module in tree.values():
        if module.package != "diagnosis" or module.part not in FLOORS:
            continue
        for imported in module.imports:
            target = part_of(imported.target)
            if not imported.target.startswith("diagnosis.") or target not in FLOORS:
                continue
            below = FLOORS[target] < FLOORS[module.part]
            if not below and target not in {module.part, *TOP_FLOOR_IMPORTS.get(module.part, ())}:
                yield f"{module.place(imported.line)} imports {imported.target}"


def errors_stand_alone(tree: Tree) -> Iterator[str]:
    module = tree["diagnosis.errors"]
    for imported in module.imports:
        in_contracts = part_of(imported.target) == "contracts" and imported.for_types
        if imported.target.startswith("diagnosis") and not in_contracts:
            yield f"{module.place(imported.line)} imports {imported.target}"


def only_testing_imports_testing(tree: Tree) -> Iterator[str]:
    for module in tree.values():
        if module.name.startswith("diagnosis.testing"):
            continue
        for imported in module.imports:
            if f"{imported.target}.".startswith("diagnosis.testing."):
                yield f"{module.place(imported.line)} imports {imported.target}"


def plugins_know_only_the_plugin_surface(tree: Tree) -> Iterator[str]:
    packages = {module.package for module in tree.values()} - {"diagnosis"}
    for module in tree.values():
        for imported in module.imports if module.package in packages else ():
            top = imported.target.split(".")[0]
            beyond = top == "diagnosis" and part_of(imported.target) not in PLUGIN_MAY_IMPORT
            shared = top == SQL_LIBRARY and module.package in SQL_PLUGINS
            if beyond or (top in packages - {module.package} and not shared):
                yield f"{module.place(imported.line)} imports {imported.target}"


def only_commands_know_a_plugin(tree: Tree) -> Iterator[str]:
    packages = {module.package for module in tree.values()} - {"diagnosis"}
    for module in tree.values():
        core = module.package == "diagnosis" and module.part != "cli"
        for imported in module.imports if core else ():
            if imported.target.split(".")[0] in packages:
                yield f"{module.place(imported.line)} imports {imported.target}"


def nothing_imports_the_package_root(tree: Tree) -> Iterator[str]:
    for module in tree.values():
        for imported in module.imports:
            if imported.target == "diagnosis":
                yield f"{module.place(imported.line)} imports diagnosis itself"


def no_cycles(tree: Tree) -> Iterator[str]:
    graph = {
        module.name: {
            imported.target
            for imported in module.imports
            if imported.target in tree
            and imported.target != module.name
            and not (module.name == "diagnosis.errors" and imported.for_types)
        }
        for module in tree.values()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield "cycle: " + " <- ".join(error.args[1])


def agent_is_made_in_one_package(tree: Tree) -> Iterator[str]:
    for module in tree.values():
        if module.part == "agent" and module.package == "diagnosis":
            continue
        for imported in module.imports:
            from_root = imported.target == "pydantic_ai" and {"Agent", "*"} & {*imported.names}
            if from_root or f"{imported.target}.".startswith("pydantic_ai.agent."):
                yield f"{module.place(imported.line)} imports pydantic_ai's Agent"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "pydantic_ai.Agent":
                yield f"{module.place(node.lineno)} uses pydantic_ai's Agent"


RULES: list[Rule] = [
    every_part_has_a_floor,
    imports_point_down,
    errors_stand_alone,
    only_testing_imports_testing,
    plugins_know_only_the_plugin_surface,
    only_commands_know_a_plugin,
    nothing_imports_the_package_root,
    no_cycles,
    agent_is_made_in_one_package,
]


# --- the source keeps them --------------------------------------------------------------------


@pytest.fixture(scope="module")
def source() -> Tree:
    return read_tree(SOURCE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_source_keeps_the_rule(source: Tree, rule: Rule) -> None:
    problems = [problem for problem in rule(source) if problem not in ALLOWED]
    assert not problems, "\n" + "\n".join(problems)


def test_allow_list_names_only_problems_that_still_exist(source: Tree) -> None:
    assert {problem for rule in RULES for problem in rule(source)} >= ALLOWED


# --- and each rule finds what breaks it -------------------------------------------------------

# A file name and its text; the folder `plugins` holds the plugins, as in src.
MAIN, RUN = "diagnosis/cli/main.py", "diagnosis/harness/run.py"
TOOL, GUARD = "diagnosis/plugin/tool.py", "diagnosis/guards/semantic.py"
LOGS, SQL = "plugins/diagnosis_logs/a.py", "plugins/diagnosis_sql/a.py"
BROKEN: list[tuple[Rule, str, str]] = [
    (every_part_has_a_floor, "diagnosis/attic/box.py", ""),
    (imports_point_down, RUN, "import diagnosis.release.report"),
    (imports_point_down, RUN, "from diagnosis.release import report"),
    (imports_point_down, RUN, "from ..release import report"),
    (imports_point_down, RUN, "from diagnosis.storage import tables"),
    (imports_point_down, "diagnosis/models/run.py", "def f():\n  import diagnosis.agent.offline"),
    (imports_point_down, "diagnosis/settings.py", "import diagnosis.bootstrap"),
    (imports_point_down, "diagnosis/web/app.py", "import diagnosis.cli.main"),
    (imports_point_down, TOOL, "if TYPE_CHECKING:\n  from diagnosis.harness import run"),
    (imports_point_down, TOOL, "importlib.import_module('diagnosis.harness.run')"),
    (errors_stand_alone, "diagnosis/errors.py", "from diagnosis.contracts import run"),
    (errors_stand_alone, "diagnosis/errors.py", "if TYPE_CHECKING:\n  import diagnosis.plugin"),
    (only_testing_imports_testing, MAIN, "from diagnosis import testing"),
    (only_testing_imports_testing, LOGS, "import diagnosis.testing.fakes"),
    (plugins_know_only_the_plugin_surface, LOGS, "from diagnosis.harness import run"),
    (plugins_know_only_the_plugin_surface, LOGS, "import diagnosis_mysql"),
    (plugins_know_only_the_plugin_surface, LOGS, "import diagnosis_sql.policy"),
    (plugins_know_only_the_plugin_surface, SQL, "import diagnosis_mysql"),
    (only_commands_know_a_plugin, "diagnosis/bootstrap.py", "import diagnosis_logs"),
    (nothing_imports_the_package_root, MAIN, "import diagnosis"),
    (nothing_imports_the_package_root, MAIN, "from diagnosis import run"),
    (nothing_imports_the_package_root, MAIN, "from .. import run"),
    (no_cycles, TOOL, "from diagnosis.plugin import registry"),
    (no_cycles, TOOL, "def f():\n  from .registry import Registry"),
    (agent_is_made_in_one_package, GUARD, "from pydantic_ai import Agent"),
    (agent_is_made_in_one_package, GUARD, "import pydantic_ai.agent"),
    (agent_is_made_in_one_package, GUARD, "import pydantic_ai\nagent = pydantic_ai.Agent()"),
]
GOOD = {
    "diagnosis/__init__.py": "",
    "diagnosis/errors.py": "if TYPE_CHECKING:\n  from diagnosis.contracts.run import Reason",
    "diagnosis/contracts/run.py": "import diagnosis.errors",
    "diagnosis/plugin/__init__.py": "from diagnosis.plugin.registry import Registry",
    "diagnosis/plugin/registry.py": "from . import tool\nfrom diagnosis.contracts import run",
    "diagnosis/plugin/tool.py": "from diagnosis.errors import QueryRejected",
    "diagnosis/agent/factory.py": "from pydantic_ai import Agent\nimport diagnosis.plugin.tool",
    "diagnosis/guards/semantic.py": "from pydantic_ai.models import Model",
    "diagnosis/release/report.py": "from diagnosis.guards import semantic",
    "diagnosis/testing/fakes.py": "import diagnosis.release.report",
    "diagnosis/bootstrap.py": "import diagnosis.settings",
    "diagnosis/cli/logs.py": "import diagnosis_logs",
    "diagnosis/settings.py": "",
    "plugins/diagnosis_logs/__init__.py": "from diagnosis.plugin import hookimpl",
    "plugins/diagnosis_logs/a.py": "import re\nfrom diagnosis_logs.b import x",
    "plugins/diagnosis_logs/b.py": "x = 1",
    "plugins/diagnosis_mysql/__init__.py": "from diagnosis_sql.policy import x",
    "plugins/diagnosis_sql/__init__.py": "",
    "plugins/diagnosis_sql/policy.py": "x = 1",
}


def write_tree(folder: Path, files: dict[str, str]) -> Tree:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_tree(folder)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_finds_nothing_in_a_good_tree(tmp_path: Path, rule: Rule) -> None:
    assert list(rule(write_tree(tmp_path, GOOD))) == []


@pytest.mark.parametrize(("rule", "name", "text"), BROKEN)
def test_rule_finds_the_file_that_breaks_it(
    tmp_path: Path, rule: Rule, name: str, text: str
) -> None:
    problems = list(rule(write_tree(tmp_path, {**GOOD, name: text})))
    module = name.removesuffix(".py").replace("/", ".")
    assert problems
    assert all(name in problem or module in problem for problem in problems)


def test_every_rule_has_a_tree_that_breaks_it() -> None:
    assert {rule for rule, _, _ in BROKEN} == {*RULES}
