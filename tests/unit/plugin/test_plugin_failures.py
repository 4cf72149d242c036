"""Each way a plugin can fail: what is reported, how to mend it, and that the others go on."""

from typing import Any

import pytest

from diagnosis.plugin import PluginServices
from diagnosis.plugin.manager import load_plugins
from diagnosis.plugin.reports import PluginReport, PluginStatus

NEIGHBOUR = """
    from pathlib import Path
    from diagnosis.plugin import hookimpl

    @hookimpl
    def diagnosis_register_skills(settings):
        return [Path("skill")]
"""


def _failure(site: Any, source: str, **distribution: Any) -> PluginReport:
    """The report of a failing plugin; its neighbour must have loaded."""
    site.add("failing", source, **distribution)
    site.add("neighbour", NEIGHBOUR)
    loaded = load_plugins(
        plugin_settings={}, services=PluginServices(), entry_points=site.entry_points
    )
    failing, neighbour = loaded.reports
    assert neighbour.status is PluginStatus.LOADED
    assert loaded.skills
    assert failing.status is not PluginStatus.LOADED
    assert failing.reason
    assert failing.mend
    assert "\n" not in failing.reason + failing.mend
    assert "hunter2" not in failing.model_dump_json()
    return failing


def _hook(name: str, answer: str, arguments: str = "settings, services") -> str:
    return f"""
    from diagnosis.plugin import SourceError, hookimpl

    @hookimpl
    def {name}({arguments}):
        {answer}
"""


TOOLS_HOOK = "diagnosis_register_evidence_tools"


# --- missing modules -------------------------------------------------------------------------


def test_the_extra_that_brings_the_missing_module_is_named(site: Any) -> None:
    report = _failure(
        site,
        "import no_such_store.client",
        distribution="shop-tools",
        requires=[
            "pydantic>=2",
            "no-such-store>=1; extra == 'all'",
            "no_such.store>=1 ; extra == 'failing'",
        ],
        extras=["all", "failing"],
    )
    assert report.status is PluginStatus.MISSING_DEPENDENCY
    assert "'no_such_store'" in (report.reason or "")
    assert report.mend == 'Run: pip install "shop-tools[failing]"'


def test_any_extra_that_brings_the_missing_module_will_do(site: Any) -> None:
    report = _failure(
        site,
        "import no_such_store",
        distribution="shop-tools",
        requires=['no-such-store; extra == "stores"'],
        extras=["stores"],
    )
    assert report.mend == 'Run: pip install "shop-tools[stores]"'


def test_a_module_under_another_name_comes_with_the_extra_named_like_the_plugin(site: Any) -> None:
    report = _failure(
        site,
        "import no_such_yaml",
        distribution="shop-tools",
        requires=["PyNoSuchYAML; extra == 'failing'"],
        extras=["failing"],
    )
    assert report.mend == 'Run: pip install "shop-tools[failing]"'


def test_the_extras_of_the_entry_point_are_named(site: Any) -> None:
    (site.folder / "module_of_an_entry_with_extra.py").write_text("import no_such_store")
    report = _failure(
        site,
        "",
        distribution="shop-tools",
        entry_point="module_of_an_entry_with_extra [stores]",
    )
    assert report.mend == 'Run: pip install "shop-tools[stores]"'


def test_a_requirement_without_an_extra_is_installed_by_its_own_name(site: Any) -> None:
    report = _failure(site, "import no_such_store", requires=["no-such-store>=1"])
    assert report.mend == 'Run: pip install "no-such-store"'


def test_a_module_that_no_metadata_knows_is_named(site: Any) -> None:
    report = _failure(site, "import no_such_store", requires=["pydantic"], extras=["other"])
    assert report.mend == "Install the package that provides the module 'no_such_store'."


def test_a_dependency_that_lacks_a_name_counts_as_missing(site: Any) -> None:
    report = _failure(site, "from json import no_such_name", requires=["json; extra == 'x'"])
    assert report.status is PluginStatus.MISSING_DEPENDENCY
    assert report.mend == 'Run: pip install "failing-distribution[x]"'


def test_a_module_imported_late_by_a_hook_is_reported_the_same(site: Any) -> None:
    report = _failure(site, _hook(TOOLS_HOOK, "import no_such_store"), requires=["no-such-store"])
    assert report.status is PluginStatus.MISSING_DEPENDENCY
    assert report.mend == 'Run: pip install "no-such-store"'


def test_an_entry_point_to_nothing_is_broken(site: Any) -> None:
    report = _failure(site, "", entry_point="no_such_plugin_module.inner")
    assert report.status is PluginStatus.BROKEN
    assert "'no_such_plugin_module' does not exist" in (report.reason or "")
    assert report.mend == "Install another version of failing-distribution, or remove it."


# --- broken code -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def broken(:", "SyntaxError in line 1"),
        ("raise ValueError('password=hunter2')", "it raised ValueError"),
        ("raise SystemExit('password=hunter2')", "it raised SystemExit"),
        ("raise ImportError('password=hunter2')", "it raised ImportError"),
        ("name = 1", "implements no hook"),
        (_hook(TOOLS_HOOK, "raise OSError('password=hunter2')"), "it raised OSError"),
        (_hook(TOOLS_HOOK, "return 'tools'"), f"{TOOLS_HOOK} of plugin 'failing' returned str"),
        (_hook(TOOLS_HOOK, "return [3]"), "registers a int, which is no evidence tool"),
        (_hook(TOOLS_HOOK, "return [hookimpl]"), "is no evidence tool"),
        (
            _hook(TOOLS_HOOK, "return []", "setings, services"),
            "for hook 'diagnosis_register_evidence_tools' Argument(s) {'setings'} are declared",
        ),
        (_hook("diagnosis_register_run_observers", "return [3]"), "returned int"),
        (_hook("diagnosis_register_skills", "return ['path']", "settings"), "returned str"),
        (_hook("diagnosis_describe_health", "return [object()]", "settings"), "returned object"),
        (_hook("diagnosis_settings_model", "return dict", ""), "returned dict"),
        (_hook("diagnosis_settings_model", "return 3", ""), "returned int"),
    ],
)
def test_code_that_fails_or_breaks_the_contract_is_broken(
    site: Any, source: str, reason: str
) -> None:
    report = _failure(site, source)
    assert report.status is PluginStatus.BROKEN
    assert reason in (report.reason or "")
    assert report.tools == ()


def test_an_async_hook_is_broken(site: Any) -> None:
    report = _failure(site, _hook(TOOLS_HOOK, "return []").replace("def ", "async def "))
    assert report.reason == f"{TOOLS_HOOK} of plugin 'failing' is async."


def test_a_misspelled_hook_is_broken_and_the_right_one_named(site: Any) -> None:
    report = _failure(site, _hook("diagnosis_register_evidence_tool", "return []"))
    assert report.status is PluginStatus.BROKEN
    assert "'diagnosis_register_evidence_tool', which is no hook" in (report.reason or "")
    assert report.mend == "Did you mean 'diagnosis_register_evidence_tools'?"


def test_a_hook_that_is_like_no_other_gets_the_list_of_hooks(site: Any) -> None:
    report = _failure(site, _hook("diagnosis_x", "return []", ""))
    assert "diagnosis_describe_health" in (report.mend or "")


def test_one_tool_that_cannot_be_used_leaves_none_of_the_plugin_behind(site: Any) -> None:
    source = """
    from pydantic import BaseModel, Field
    from diagnosis.plugin import EvidenceResult, evidence_tool, hookimpl

    class Request(BaseModel):
        name: str = Field(description="The name.")

    def tool(tool_name):
        @evidence_tool(name=tool_name, description="Finds.")
        async def find(request: Request, context) -> EvidenceResult:
            return EvidenceResult(scope={})
        return find

    @hookimpl
    def diagnosis_register_evidence_tools(settings, services):
        return [tool("find_good"), tool("Find-Bad")]
"""
    report = _failure(site, source)
    assert "'Find-Bad'" in (report.reason or "")
    assert report.tools == ()


def test_a_source_error_without_settings_of_the_user_is_reported(site: Any) -> None:
    report = _failure(site, _hook(TOOLS_HOOK, "raise SourceError('no\\nfolder', 'make it')"))
    assert report.status is PluginStatus.SOURCE_UNUSABLE
    assert (report.reason, report.mend) == ("no folder", "make it")
