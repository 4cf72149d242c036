"""Readers: the bytes of a document in, its text in sections out; one module a format."""
