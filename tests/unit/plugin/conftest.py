"""A folder of installed distributions, made of real files, that plugins are found in."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest


class Site:
    """Like site-packages: modules beside the metadata of what installed them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []

    def add(
        self,
        plugin: str,
        source: str,
        *,
        distribution: str | None = None,
        requires: Sequence[str] = (),
        extras: Sequence[str] = (),
        entry_point: str | None = None,
    ) -> str:
        """Install a plugin whose module has this source; returns the module's name."""
        distribution = distribution or f"{plugin}-distribution"
        module = f"site_{len(self.modules)}_{plugin}_{self.folder.name}".replace("-", "_")
        self.modules.append(module)
        (self.folder / f"{module}.py").write_text(textwrap.dedent(source))
        info = self.folder / f"{distribution.replace('-', '_')}-1.2.3.dist-info"
        info.mkdir()
        metadata = ["Metadata-Version: 2.4", f"Name: {distribution}", "Version: 1.2.3"]
        metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
        metadata += [f"Provides-Extra: {extra}" for extra in extras]
        (info / "METADATA").write_text("\n".join(metadata) + "\n")
        (info / "entry_points.txt").write_text(
            f"[diagnosis]\n{plugin} = {entry_point or module}\n[other]\nstranger = nowhere\n"
        )
        importlib.invalidate_caches()
        return module

    def entry_points(self) -> Iterator[importlib.metadata.EntryPoint]:
        """What `load_plugins` takes as its source of plugins."""
        for distribution in importlib.metadata.distributions(path=[str(self.folder)]):
            yield from distribution.entry_points.select(group="diagnosis")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    made = Site(folder)
    yield made
    for module in made.modules:
        sys.modules.pop(module, None)
