"""What the SQL plugins share: the policy, the pool, the reading of rows, the masking of secrets.

A library, not a plugin: it has no entry point and knows no server. `diagnosis_mysql` and
`diagnosis_postgresql` bring the language (a value, `language.SqlLanguage`) and the connection
(`pool.SqlSession`). Importing this package imports no SQL parser; its modules do.
"""
