"""Run by Alembic, for the application and for the developer's `alembic` command."""

from __future__ import annotations

from alembic import context

from diagnosis.storage.migrating import HANDED_IN, migrated_in_memory, run_revisions


def main() -> None:
    """Run the revisions on the connection handed in.

    The command hands none in: it works on a database in memory that has every revision so far, to
    compare the tables with.
    """
    connection = context.config.attributes.get(HANDED_IN)
    if connection is not None:
        run_revisions(connection)
        return
    with migrated_in_memory(context.script) as connection:
        run_revisions(connection)


if __name__ == "env_py":  # the name under which Alembic loads it
    main()
