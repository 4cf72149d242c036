"""The tables, as SQLModel classes. A change here needs a migration: see CONTRIBUTING.md."""

from __future__ import annotations

from sqlalchemy import Enum, Text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from diagnosis.plugin.documents import IndexStatus


class Table(SQLModel, registry=registry()):
    """Base of the tables, with metadata of its own: an application may use SQLModel as well."""


class ApiDocument(Table, table=True):
    """One document of one index, and how far its indexing is.

    Several indexes share the table, so a document's id is unique within its index only.
    """

    # SQLModel declares a method here, and documents a name
    __tablename__ = "api_document"  # pyright: ignore[reportAssignmentType]

    index_id: str = Field(primary_key=True, max_length=64)
    doc_id: str = Field(primary_key=True, max_length=255)
    source: str = Field(sa_type=Text)
    file_hash: str = Field(max_length=64)
    # VARCHAR, so that a new status needs no change of the table
    index_status: IndexStatus = Field(sa_type=Enum(IndexStatus, native_enum=False, length=16))
    reason: str | None = Field(default=None, sa_type=Text)
