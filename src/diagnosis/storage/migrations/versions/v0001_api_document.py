"""The document registry."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "5b1f0c7a9e21"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "api_document",
        sa.Column("index_id", sa.String(length=64), nullable=False),
        sa.Column("doc_id", sa.String(length=255), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("file_hash", sa.String(length=64), nullable=False),
        sa.Column("index_status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("index_id", "doc_id"),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("api_document")
