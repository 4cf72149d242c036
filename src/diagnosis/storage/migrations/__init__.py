"""Alembic's migrations: one file a revision in `versions`, and `env.py` that Alembic runs."""

HEAD = "5b1f0c7a9e21"
"""The newest revision, which a database must have. Here, so that nobody reads files to know it."""
