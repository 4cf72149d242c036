"""Brings the embedded database file to the newest revision, or refuses it.

Blocks: for a thread of its own. Whoever comes first holds SQLite's write lock for the whole of it,
so that processes which start together wait for each other, and a killed one leaves the revision
that was there. Alembic is imported only where there is something to do.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import URL, Connection, NullPool, create_engine, event, inspect
from sqlalchemy.exc import DBAPIError
from sqlmodel import AutoString

from diagnosis.errors import SourceError
from diagnosis.storage import migrations
from diagnosis.storage.tables import Table
from diagnosis.storage.trouble import database_trouble

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

HANDED_IN = "connection"
"""The attribute of Alembic's configuration that holds the connection to migrate."""

_FOLDER = Path(migrations.__file__).parent
_VERSION_TABLE = "alembic_version"
_WAIT_S = 10.0  # for another process that migrates; that takes a tenth of a second
_one_at_a_time = threading.Lock()  # Alembic keeps what it works on in globals


def migrate(file: Path) -> None:
    """Make the file where there is none, and bring it to the newest revision.

    Raises:
        SourceError: it cannot be read or written, is no database of this application, or has a
            revision that is not known here.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.stat().st_size == 0:
            _write_ahead(file)  # a file that is refused stays as it is
        elif _revision_of(file) == migrations.HEAD:
            return
        with _one_at_a_time, _locked(file) as connection:
            _refuse_strangers(file, connection)
            upgrade(connection)
    except (OSError, sqlite3.Error, DBAPIError) as error:
        raise database_trouble(file, error) from error


def upgrade(connection: Connection) -> None:
    """Run the revisions that a database lacks, in the connection's transaction."""
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: Connection) -> Config:
    """The configuration with which Alembic's commands work on a connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes[HANDED_IN] = connection
    return config


def run_revisions(connection: Connection) -> None:
    """What Alembic's environment does: run what the command asked for, on this connection."""
    from alembic import context

    context.configure(
        connection=connection,
        target_metadata=Table.metadata,
        render_as_batch=True,  # SQLite alters a table by making it anew
        render_item=plain_string,
    )
    with context.begin_transaction():
        context.run_migrations()


def plain_string(kind: str, item: object, _: object) -> str | Literal[False]:
    """Write SQLModel's strings into a new revision as what they are to the database."""
    if kind == "type" and isinstance(item, AutoString):
        return f"sa.String(length={item.length})"
    return False


@contextmanager
def migrated_in_memory(script: ScriptDirectory) -> Iterator[Connection]:
    """A connection to a new database in memory that has every revision; for Alembic's own use."""
    from alembic.operations import Operations
    from alembic.runtime.migration import MigrationContext

    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        # not by a command of Alembic: one is running, and they do not nest
        context = MigrationContext.configure(connection)
        with Operations.context(context):
            for revision in reversed(list(script.walk_revisions())):
                revision.module.upgrade()
        context.stamp(script, "head")
        yield connection
    engine.dispose()


def _revision_of(file: Path) -> str | None:
    with closing(sqlite3.connect(file, timeout=_WAIT_S)) as connection:
        if not connection.execute(
            "SELECT 1 FROM sqlite_master WHERE name = ?", (_VERSION_TABLE,)
        ).fetchone():
            return None
        row = connection.execute(f"SELECT version_num FROM {_VERSION_TABLE}").fetchone()  # noqa: S608 - a constant
        return None if row is None else str(row[0])


def _write_ahead(file: Path) -> None:
    """Let readers and a writer not wait for each other; the file remembers it."""
    patience = time.monotonic() + _WAIT_S
    with closing(sqlite3.connect(file, timeout=_WAIT_S)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # SQLite does not wait here for a process that does the same
                if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > patience:
                    raise
                time.sleep(0.01)
            else:
                return


@contextmanager
def _locked(file: Path) -> Iterator[Connection]:
    """A connection in a transaction that no other process can write beside, kept whole or not."""
    url = URL.create("sqlite", database=str(file))
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": _WAIT_S})

    @event.listens_for(engine, "connect")
    def begin_nothing_by_itself(connection: Any, _: object) -> None:
        connection.isolation_level = None  # the driver would leave DDL out of the transaction

    @event.listens_for(engine, "begin")
    def lock(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    with engine.begin() as connection:
        yield connection


def _refuse_strangers(file: Path, connection: Connection) -> None:
    """Refuse a database of another application, or of a newer version of this one."""
    from alembic.script import ScriptDirectory

    tables = set(inspect(connection).get_table_names())
    if not tables:
        return
    if _VERSION_TABLE not in tables:
        raise SourceError(
            f"The database {file} belongs to another application.",
            "Set storage.file to a file of its own.",
        )
    query = f"SELECT version_num FROM {_VERSION_TABLE}"  # noqa: S608 - a constant
    here = {row[0] for row in connection.exec_driver_sql(query)}
    script = ScriptDirectory.from_config(alembic_config(connection))
    unknown = here - {revision.revision for revision in script.walk_revisions()}
    if unknown:
        raise SourceError(
            f"The database {file} has the revision {min(unknown)!r}, which this version of "
            "diagnosis does not know.",
            "Use the version that it was last used with, or set storage.file to another file.",
        )
