"""The embedded database migrates itself, whole or not at all, and refuses what it does not know."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from diagnosis.errors import SourceError
from diagnosis.storage.migrating import alembic_config, migrate, plain_string
from diagnosis.storage.migrations import HEAD
from diagnosis.storage.tables import Table


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "diagnosis.sqlite3"


@pytest.fixture
def connection(file: Path) -> Iterator[Connection]:
    """To a file that has every revision."""
    migrate(file)
    engine = create_engine(f"sqlite:///{file}")
    with engine.connect() as opened:
        yield opened
    engine.dispose()


def query(file: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as connection, connection:
        return connection.execute(sql).fetchall()


def tables(file: Path) -> set[object]:
    return {row[0] for row in query(file, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_the_tables_are_what_the_migrations_make(connection: Connection) -> None:
    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "compare_server_default": True}
    )
    assert compare_metadata(context, Table.metadata) == []


def test_a_table_without_a_migration_is_found(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE api_document ADD COLUMN forgotten TEXT")
    connection.exec_driver_sql("CREATE TABLE another (id TEXT)")
    assert len(compare_metadata(MigrationContext.configure(connection), Table.metadata)) == 2


def test_the_developers_command_compares_the_same() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "alembic", "check"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "No new upgrade operations detected.\n")


def test_a_string_is_written_into_a_new_revision_as_what_it_is(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE api_document DROP COLUMN file_hash")
    opts = {"target_metadata": Table.metadata, "render_item": plain_string}
    context = MigrationContext.configure(connection, opts=opts)
    script = produce_migrations(context, Table.metadata)
    text = render_python_code(script.upgrade_ops, render_item=plain_string)
    assert "sa.Column('file_hash', sa.String(length=64), nullable=False)" in text


def test_the_newest_revision_is_the_one_that_is_asked_for(connection: Connection) -> None:
    script = ScriptDirectory.from_config(alembic_config(connection))
    assert script.get_heads() == [HEAD]
    names = sorted(Path(each.path).name for each in script.walk_revisions())
    assert [name[:5] for name in names] == [f"v{n:04}" for n in range(1, len(names) + 1)]


def test_an_empty_file_gets_every_table_and_goes_back_to_none(
    file: Path, connection: Connection
) -> None:
    assert tables(file) == {"alembic_version", "api_document"}
    assert query(file, "PRAGMA journal_mode") == [("wal",)]
    command.downgrade(alembic_config(connection), "base")
    connection.commit()
    assert tables(file) == {"alembic_version"}
    command.upgrade(alembic_config(connection), "head")
    connection.commit()
    assert tables(file) == {"alembic_version", "api_document"}


def test_every_revision_goes_forth_and_back_alone(connection: Connection) -> None:
    config = alembic_config(connection)
    count = len(list(ScriptDirectory.from_config(config).walk_revisions()))
    for _ in range(count):
        command.downgrade(config, "-1")
    for _ in range(count):
        command.upgrade(config, "+1")
        command.downgrade(config, "-1")
        command.upgrade(config, "+1")
    assert compare_metadata(MigrationContext.configure(connection), Table.metadata) == []


def test_what_is_in_the_tables_outlives_another_start(file: Path) -> None:
    migrate(file)
    row = "'index', 'a', 'a.md', '00', 'INDEXED', NULL"
    query(file, f"INSERT INTO api_document VALUES ({row})")
    migrate(file)
    assert query(file, "SELECT doc_id FROM api_document") == [("a",)]


def refusal(file: Path) -> SourceError:
    before = file.read_bytes()
    with pytest.raises(SourceError) as caught:
        migrate(file)
    assert file.read_bytes() == before, "a refused file is left as it was"
    for sentence in (caught.value.problem, caught.value.mend):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "\n" not in sentence
    return caught.value


def test_an_unknown_revision_is_refused(file: Path) -> None:
    migrate(file)
    query(file, "UPDATE alembic_version SET version_num = 'ffffffffffff'")
    query(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    error = refusal(file)
    assert "has the revision 'ffffffffffff', which this version of diagnosis" in error.problem
    assert "Use the version" in error.mend


def test_another_applications_database_is_refused(file: Path) -> None:
    file.parent.mkdir()
    query(file, "CREATE TABLE customers (name TEXT)")
    assert refusal(file).problem == f"The database {file} belongs to another application."


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + b"x" * 5000])
def test_a_file_that_is_no_database_is_refused(file: Path, content: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    assert refusal(file).problem == (
        f"The database {file} cannot be used: it is no SQLite database."
    )


def test_a_folder_in_its_place_is_refused(file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(SourceError, match="cannot be used: it cannot be opened"):
        migrate(file)


def test_a_file_where_its_folder_should_be_is_refused(file: Path) -> None:
    file.parent.write_text("")
    with pytest.raises(SourceError, match="cannot be used: File exists"):
        migrate(file)


MIGRATE = """
import sys, time
from pathlib import Path
from diagnosis.storage.migrating import migrate
print("ready", flush=True)
sys.stdin.readline()
migrate(Path(sys.argv[1]))
"""


def start(file: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MIGRATE, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_killed_migration_leaves_nothing_in_the_way(file: Path) -> None:
    for delay in (0.0, 0.02, 0.1, 0.2):
        process = start(file)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(delay)
        process.kill()
        process.communicate()
    migrate(file)
    assert tables(file) == {"alembic_version", "api_document"}


def test_processes_that_start_together_migrate_one_file_once(file: Path) -> None:
    processes = [start(file) for _ in range(6)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate() for process in processes]
    assert [(process.returncode, end) for process, end in zip(processes, ends, strict=True)] == [
        (0, ("", ""))
    ] * 6
    assert query(file, "SELECT version_num FROM alembic_version") == [(HEAD,)]
    assert query(file, "PRAGMA integrity_check") == [("ok",)]
