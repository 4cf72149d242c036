from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel, Field

from diagnosis.contracts.events import RunEvent
from diagnosis.errors import ConfigurationError, PluginError, SourceError
from diagnosis.plugin import EvidenceContext, EvidenceResult, Health, PluginServices, hookimpl
from diagnosis.plugin.manager import LoadedPlugins, load_plugins, make_plugin_manager
from diagnosis.plugin.reports import PluginReport, PluginStatus

TOOLS = """
    from pathlib import Path
    from pydantic import BaseModel, Field
    from diagnosis.plugin import EvidenceResult, Health, SourceError, evidence_tool, hookimpl

    class Settings(BaseModel):
        path: Path = Field(description="Where it is.")

    class Request(BaseModel):
        name: str = Field(description="The name.")

    def tool(tool_name, failure=None):
        @evidence_tool(name=tool_name, description="Finds. Nothing found: none is stored.")
        async def find(request: Request, context) -> EvidenceResult:
            return EvidenceResult(scope={})
        return find
"""

GOOD = (
    TOOLS
    + """
    @hookimpl
    def diagnosis_register_evidence_tools(settings, services):
        return [tool("find_GOOD")]
"""
)

CONFIGURED = (
    TOOLS
    + """
    @hookimpl
    def diagnosis_settings_model():
        return Settings

    @hookimpl
    def diagnosis_register_evidence_tools(settings, services):
        if settings.path.name == "gone":
            raise SourceError(f"there is no {settings.path}", "make it")
        return [tool("find_" + settings.path.name)]
"""
)


def _good(name: str) -> str:
    return GOOD.replace("GOOD", name)


def _load(site: Any, settings: dict[str, Any] | None = None, **options: Any) -> LoadedPlugins:
    return load_plugins(
        plugin_settings=settings or {},
        services=PluginServices(),
        entry_points=site.entry_points,
        **options,
    )


def _report(loaded: LoadedPlugins, name: str) -> PluginReport:
    (found,) = [report for report in loaded.reports if report.name == name]
    return found


def test_a_manager_is_made_afresh_each_time() -> None:
    first, second = make_plugin_manager(), make_plugin_manager()
    first.register(ModuleType("a_plugin"))
    assert second.get_plugins() == set()
    first.check_pending()


def test_every_installed_plugin_is_found_and_owns_its_tools(site: Any) -> None:
    site.add("beta", _good("b"), distribution="beta-package")
    site.add("alpha", _good("a"))
    loaded = _load(site)
    assert [(tool.name, tool.plugin) for tool in loaded.registry] == [
        ("find_a", "alpha"),
        ("find_b", "beta"),
    ]
    assert [report.name for report in loaded.reports] == ["alpha", "beta"]
    assert _report(loaded, "beta") == PluginReport(
        name="beta",
        distribution="beta-package",
        version="1.2.3",
        status=PluginStatus.LOADED,
        tools=("find_b",),
    )
    assert loaded.required_tools == frozenset()


def test_the_installed_plugins_are_the_ones_of_this_environment() -> None:
    loaded = load_plugins(plugin_settings={}, services=PluginServices(), stop_on_failure=False)
    names = {report.name for report in loaded.reports}
    assert {"logs", "knowledge", "mysql"} <= names
    assert {report.distribution for report in loaded.reports} >= {"diagnosis-harness"}


def test_each_plugin_gets_its_own_validated_settings_only(site: Any) -> None:
    site.add("alpha", CONFIGURED)
    site.add("beta", CONFIGURED)
    loaded = _load(site, {"alpha": {"path": "/x/a"}, "beta": {"path": "/x/b"}})
    assert loaded.registry.names == ("find_a", "find_b")
    assert loaded.required_tools == {"find_a", "find_b"}


def test_services_reach_the_hooks(site: Any) -> None:
    site.add(
        "alpha",
        TOOLS
        + """
    @hookimpl
    def diagnosis_register_evidence_tools(settings, services):
        return [tool(services.embedder)]
""",
    )
    loaded = load_plugins(
        plugin_settings={},
        services=PluginServices(embedder="find_lent"),  # type: ignore[arg-type] # any object will do
        entry_points=site.entry_points,
    )
    assert loaded.registry.names == ("find_lent",)


class Observer:
    required = True

    async def on_event(self, event: RunEvent) -> None:
        return None


class DiskCheck:
    name = "disk"

    async def check(self) -> Health:
        return Health(ok=True, detail="there is room")


class Everything:
    @hookimpl
    def diagnosis_register_run_observers(self, settings: Any, services: Any) -> tuple[Observer]:
        return (Observer(),)

    @hookimpl
    def diagnosis_register_skills(self, settings: Any) -> list[Path]:
        return [Path("skills/slow-queries")]

    @hookimpl
    def diagnosis_describe_health(self, settings: Any) -> list[DiskCheck]:
        return [DiskCheck()]


async def test_observers_skills_and_health_checks_are_gathered(site: Any) -> None:
    site.add("beta", _good("b"))
    loaded = _load(site, extra_plugins=[Everything()])
    (observer,) = loaded.observers
    assert observer.required
    assert loaded.skills == (Path("skills/slow-queries"),)
    (check,) = loaded.health_checks["Everything"]
    assert check.name == "disk"
    assert (await check.check()).ok
    assert loaded.health_checks["beta"] == ()
    assert _report(loaded, "Everything").status is PluginStatus.LOADED
    assert _report(loaded, "Everything").tools == ()


def test_a_plugin_without_settings_that_needs_some_is_reported_as_not_configured(
    site: Any,
) -> None:
    site.add("alpha", CONFIGURED)
    site.add("beta", _good("b"))
    loaded = _load(site)
    report = _report(loaded, "alpha")
    assert report.status is PluginStatus.NOT_CONFIGURED
    assert report.mend == "To use it, set path in [plugins.alpha]."
    assert loaded.registry.names == ("find_b",)


def test_a_plugin_that_brings_nothing_is_reported_as_not_configured(site: Any) -> None:
    site.add("alpha", GOOD.replace('return [tool("find_GOOD")]', "return []"))
    report = _report(_load(site), "alpha")
    assert report.status is PluginStatus.NOT_CONFIGURED
    assert report.mend == "To use it, set its source in [plugins.alpha]."


def test_a_plugin_that_brings_nothing_says_itself_how_to_configure_it(site: Any) -> None:
    site.add(
        "alpha",
        """
    from typing import ClassVar
    from pydantic import BaseModel
    from diagnosis.plugin import hookimpl

    class Settings(BaseModel):
        mend_unconfigured: ClassVar[str] = "Give --shop URL."
        url: str | None = None

    @hookimpl
    def diagnosis_settings_model():
        return Settings
""",
    )
    report = _report(_load(site), "alpha")
    assert report.status is PluginStatus.NOT_CONFIGURED
    assert report.mend == "Give --shop URL."


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("logs", "--logs PATH"),
        ("knowledge", "diagnosis knowledge add PATH"),
        ("mysql", "--mysql URL"),
    ],
)
def test_the_plugins_that_come_along_name_their_flags(
    name: str, flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    loaded = load_plugins(plugin_settings={}, services=PluginServices(), stop_on_failure=False)
    report = _report(loaded, name)
    assert report.status is PluginStatus.NOT_CONFIGURED
    assert flag in (report.mend or "")


def test_a_configured_source_that_cannot_be_used_stops_with_its_own_error(site: Any) -> None:
    site.add("alpha", CONFIGURED)
    with pytest.raises(SourceError) as stopped:
        _load(site, {"alpha": {"path": "/x/gone"}})
    assert stopped.value.problem == "there is no /x/gone"
    assert stopped.value.mend == "make it"
    assert stopped.value.__cause__ is None


def test_a_listing_reports_a_configured_plugin_that_fails_instead_of_stopping(site: Any) -> None:
    site.add("alpha", CONFIGURED)
    site.add("beta", _good("b"))
    loaded = _load(
        site, {"alpha": {"path": "/x/gone"}}, stop_on_failure=False, required_tools=["find_gone"]
    )
    report = _report(loaded, "alpha")
    assert report.status is PluginStatus.SOURCE_UNUSABLE
    assert (report.reason, report.mend) == ("there is no /x/gone", "make it")
    assert loaded.registry.names == ("find_b",)


def test_invalid_settings_stop_with_the_plugin_and_the_field(site: Any) -> None:
    site.add("alpha", CONFIGURED)
    with pytest.raises(ConfigurationError, match=r"plugin 'alpha' are invalid: path: ") as stopped:
        _load(site, {"alpha": {"path": 3}})
    assert stopped.value.mend == "Correct [plugins.alpha]."
    loaded = _load(site, {"alpha": {"path": 3}}, stop_on_failure=False)
    assert _report(loaded, "alpha").status is PluginStatus.INVALID_SETTINGS
    assert _report(loaded, "alpha").reason == stopped.value.problem


def test_a_configured_plugin_that_is_broken_stops_and_an_unconfigured_one_does_not(
    site: Any,
) -> None:
    site.add("alpha", "raise RuntimeError('password=hunter2')")
    site.add("beta", _good("b"))
    loaded = _load(site)
    assert _report(loaded, "alpha").status is PluginStatus.BROKEN
    assert loaded.registry.names == ("find_b",)
    with pytest.raises(PluginError, match="'alpha' is broken: it raised RuntimeError") as stopped:
        _load(site, {"alpha": {}})
    assert "hunter2" not in str(stopped.value)


def test_settings_for_a_plugin_that_is_not_installed_name_the_nearest_one(site: Any) -> None:
    site.add("metrics", _good("m"))
    with pytest.raises(ConfigurationError, match=r"\[plugins.metric\]") as refused:
        _load(site, {"metric": {}})
    assert refused.value.mend == "Did you mean 'metrics'?"
    with pytest.raises(ConfigurationError) as refused:
        _load(site, {"zebra": {}})
    assert refused.value.mend.endswith("installed plugins: metrics.")


def test_two_distributions_with_the_same_plugin_name_are_both_named(site: Any) -> None:
    site.add("metrics", _good("a"), distribution="one-metrics")
    site.add("metrics", _good("b"), distribution="two-metrics")
    with pytest.raises(PluginError, match="Two plugins are named 'metrics'") as refused:
        _load(site)
    assert "one-metrics" in refused.value.problem
    assert "two-metrics" in refused.value.problem


@pytest.mark.parametrize("stop_on_failure", [True, False])
def test_a_tool_name_that_two_plugins_bring_always_stops_with_both(
    site: Any, stop_on_failure: bool
) -> None:
    site.add("alpha", _good("same"))
    site.add("beta", _good("same"))
    with pytest.raises(PluginError, match="'find_same' is taken") as refused:
        _load(site, stop_on_failure=stop_on_failure)
    assert "'alpha'" in refused.value.problem
    assert "'beta'" in refused.value.problem


# --- required tools --------------------------------------------------------------------------


def test_a_required_tool_that_is_there_is_no_matter(site: Any) -> None:
    site.add("alpha", _good("a"))
    assert _load(site, required_tools=["find_a"]).required_tools == {"find_a"}


def test_a_missing_required_tool_stops_with_the_report_of_its_likely_plugin(site: Any) -> None:
    site.add("alpha", CONFIGURED)
    site.add("beta", "import a_module_nobody_has")
    with pytest.raises(PluginError, match="'find_alpha' is missing") as stopped:
        _load(site, required_tools=["find_alpha"])
    assert stopped.value.problem.endswith(" Plugin 'alpha' is not configured.")
    assert stopped.value.mend == "To use it, set path in [plugins.alpha]."


def test_a_missing_required_tool_of_an_unknown_plugin_stops_with_every_failure(site: Any) -> None:
    site.add("alpha", CONFIGURED)
    site.add("beta", "import a_module_nobody_has")
    with pytest.raises(PluginError) as stopped:
        _load(site, required_tools=["query_things"])
    assert "a_module_nobody_has" in stopped.value.problem
    assert "'alpha'" not in stopped.value.problem


def test_a_misspelled_required_tool_stops_with_the_nearest_one(site: Any) -> None:
    site.add("alpha", _good("orders"))
    with pytest.raises(PluginError, match="no plugin brings it") as stopped:
        _load(site, required_tools=["find_order"])
    assert stopped.value.mend == "Did you mean 'find_orders'?"
    with pytest.raises(PluginError) as stopped:
        _load(site, required_tools=["zzz"])
    assert stopped.value.mend == "The tools are: find_orders."


# --- plugins given in code -------------------------------------------------------------------


class GivenRequest(BaseModel):
    name: str = Field(description="The name.")


class GivenTool:
    description = "Finds. Nothing found: none is stored."
    request = GivenRequest

    def __init__(self, name: str, open_error: Exception | None = None) -> None:
        self.name = name
        self.open_error = open_error
        self.closed = False

    async def collect(self, request: GivenRequest, context: EvidenceContext) -> EvidenceResult:
        return EvidenceResult(scope={})

    async def open(self) -> None:
        if self.open_error:
            raise self.open_error

    async def close(self) -> None:
        self.closed = True


class Given:
    def __init__(self, *tools: Any) -> None:
        self.tools = tools

    @hookimpl
    def diagnosis_register_evidence_tools(self, settings: Any, services: Any) -> list[Any]:
        return list(self.tools)


def test_a_plugin_given_in_code_is_named_by_its_class_and_required(site: Any) -> None:
    loaded = _load(site, extra_plugins=[Given(GivenTool("find_given"))])
    found = loaded.registry.get("find_given")
    assert found is not None
    assert found.plugin == "Given"
    assert loaded.required_tools == {"find_given"}
    report = _report(loaded, "Given")
    assert (report.distribution, report.version) == (None, None)


def test_a_plugin_given_in_code_may_name_itself_and_get_settings(site: Any) -> None:
    class Named(Given):
        plugin_name = "shop"

        @hookimpl
        def diagnosis_settings_model(self) -> type[GivenRequest]:
            return GivenRequest

        @hookimpl
        def diagnosis_register_evidence_tools(self, settings: Any, services: Any) -> list[Any]:
            return [GivenTool(settings.name)]

    loaded = _load(site, {"shop": {"name": "find_shop"}}, extra_plugins=[Named()])
    assert loaded.registry.names == ("find_shop",)
    with pytest.raises(ConfigurationError, match="Plugin 'shop' is not configured"):
        _load(site, extra_plugins=[Named()])


def test_a_module_and_a_class_can_be_given_in_code(site: Any) -> None:
    module = ModuleType("company.shop_plugin")
    exec(
        "from diagnosis.plugin import hookimpl\n"
        "@hookimpl\ndef diagnosis_register_skills(settings): return []\n",
        module.__dict__,
    )

    class Collected:
        @staticmethod
        @hookimpl
        def diagnosis_register_skills(settings: Any) -> list[Any]:
            return []

    loaded = _load(site, extra_plugins=[module, Collected])
    assert [report.name for report in loaded.reports] == ["Collected", "shop_plugin"]


def test_a_plugin_given_in_code_that_fails_stops(site: Any) -> None:
    with pytest.raises(PluginError, match="Plugin 'object' implements no hook"):
        _load(site, extra_plugins=[object()])


def test_a_module_that_a_plugin_given_in_code_lacks_is_named(site: Any) -> None:
    class Late(Given):
        @hookimpl
        def diagnosis_register_skills(self, settings: Any) -> list[Any]:
            import no_such_store  # type: ignore[import-not-found] # the mistake under test

            return [no_such_store]

    with pytest.raises(PluginError, match="needs the module 'no_such_store'") as stopped:
        _load(site, extra_plugins=[Late()])
    assert stopped.value.mend == "Install the package that provides the module 'no_such_store'."


def test_a_plugin_given_in_code_under_an_installed_name_is_refused(site: Any) -> None:
    site.add("Given", _good("a"), distribution="given-package")
    with pytest.raises(PluginError, match="Two plugins are named 'Given'") as refused:
        _load(site, extra_plugins=[Given()])
    assert "given-package" in refused.value.problem
    assert "given in code" in refused.value.problem


# --- opening ---------------------------------------------------------------------------------


async def test_opening_freezes_the_registry_and_closing_closes_the_tools(site: Any) -> None:
    tool = GivenTool("find_given")
    loaded = _load(site, extra_plugins=[Given(tool)])
    assert not loaded.registry.frozen
    await loaded.open()
    assert loaded.registry.frozen
    await loaded.close()
    assert tool.closed


async def test_a_tool_that_cannot_be_opened_leaves_the_report_with_the_reason(site: Any) -> None:
    site.add("alpha", _good("a"))
    tools = [
        GivenTool("find_one", open_error=OSError("password=hunter2")),
        GivenTool("find_two", open_error=SourceError("There is no folder.", "Make it.")),
        GivenTool("find_three"),
    ]
    loaded = _load(site, extra_plugins=[Given(*tools)], required_tools=["find_three"])
    await loaded.open()
    report = _report(loaded, "Given")
    assert report.tools == ("find_three",)
    assert report.reason is not None
    assert report.reason.endswith("could not be opened: OSError. There is no folder.")
    assert report.mend is not None
    assert report.mend.endswith(" depends on. Make it.")
    assert "hunter2" not in report.model_dump_json()
    assert _report(loaded, "alpha").tools == ("find_a",)
    assert loaded.registry.names == ("find_a", "find_three")


async def test_a_tool_of_a_configured_plugin_that_cannot_be_opened_stops(site: Any) -> None:
    loaded = _load(site, extra_plugins=[Given(GivenTool("find_one", open_error=OSError()))])
    with pytest.raises(PluginError, match="'find_one' of plugin 'Given' could not be opened"):
        await loaded.open()
    assert not loaded.registry.frozen
