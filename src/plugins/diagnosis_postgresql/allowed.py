"""What a statement may be made of: the lists the policy reads. What is not listed is refused.

Sources: the chapters "Functions and Operators" and "System Catalogs" of PostgreSQL 12 to 17. Left
out on purpose: whatever waits (pg_sleep, pg_advisory_lock), reads or writes files and large objects
(pg_read_file, pg_ls_dir, lo_get, lo_import), changes state (nextval, setval, set_config,
pg_terminate_backend, pg_stat_reset, pg_logical_*), tells any setting (current_setting: applications
keep secrets there) or runs SQL that is given as text (query_to_xml, table_to_xml, cursor_to_xml,
ts_stat, ts_rewrite).
"""

from __future__ import annotations

from diagnosis_sql.text import words

GRAMMAR_FUNCTIONS = words(
    """
    ARRAY CAST COALESCE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP EXTRACT GREATEST GROUPING
    LEAST LOCALTIME LOCALTIMESTAMP NULLIF OVERLAY POSITION ROW SOME SUBSTRING TRIM
    """
)
"""Calls that are part of the grammar: nobody can put another function in their place."""

FUNCTIONS = GRAMMAR_FUNCTIONS | words(
    """
    ANY_VALUE ARRAY_AGG AVG BIT_AND BIT_OR BIT_XOR BOOL_AND BOOL_OR CORR COUNT COVAR_POP COVAR_SAMP
    CUME_DIST DENSE_RANK EVERY FIRST_VALUE JSONB_AGG JSONB_OBJECT_AGG JSON_AGG JSON_OBJECT_AGG LAG
    LAST_VALUE LEAD MAX MIN MODE NTH_VALUE NTILE PERCENTILE_CONT PERCENTILE_DISC PERCENT_RANK RANK
    RANGE_AGG REGR_AVGX REGR_AVGY REGR_COUNT REGR_INTERCEPT REGR_R2 REGR_SLOPE ROW_NUMBER STDDEV
    STDDEV_POP STDDEV_SAMP STRING_AGG SUM VARIANCE VAR_POP VAR_SAMP

    ABS ACOS ASIN ATAN ATAN2 CBRT CEIL CEILING COS COT DEGREES DIV EXP FACTORIAL FLOOR GCD LCM LN
    LOG LOG10 MIN_SCALE MOD PI POWER RADIANS RANDOM ROUND SCALE SIGN SIN SQRT TAN TRIM_SCALE TRUNC
    WIDTH_BUCKET NUM_NULLS NUM_NONNULLS

    ASCII BIT_COUNT BIT_LENGTH BTRIM CHARACTER_LENGTH CHAR_LENGTH CHR CONCAT CONCAT_WS CONVERT_FROM
    CONVERT_TO DECODE ENCODE FORMAT GET_BIT GET_BYTE INITCAP LEFT LENGTH LOWER LPAD LTRIM MD5
    NORMALIZE OCTET_LENGTH QUOTE_IDENT QUOTE_LITERAL QUOTE_NULLABLE REGEXP_COUNT REGEXP_INSTR
    REGEXP_LIKE REGEXP_MATCH REGEXP_MATCHES REGEXP_REPLACE REGEXP_SPLIT_TO_ARRAY
    REGEXP_SPLIT_TO_TABLE REGEXP_SUBSTR REPEAT REPLACE REVERSE RIGHT RPAD RTRIM SHA224 SHA256 SHA384
    SHA512 SPLIT_PART STARTS_WITH STRING_TO_ARRAY STRING_TO_TABLE STRPOS SUBSTR TO_ASCII TO_HEX
    TRANSLATE UNISTR UPPER

    AGE CLOCK_TIMESTAMP DATE_BIN DATE_PART DATE_TRUNC ISFINITE JUSTIFY_DAYS JUSTIFY_HOURS
    JUSTIFY_INTERVAL MAKE_DATE MAKE_INTERVAL MAKE_TIME MAKE_TIMESTAMP MAKE_TIMESTAMPTZ NOW
    STATEMENT_TIMESTAMP TIMEOFDAY TIMEZONE TO_CHAR TO_DATE TO_NUMBER TO_TIMESTAMP
    TRANSACTION_TIMESTAMP

    ARRAY_APPEND ARRAY_CAT ARRAY_DIMS ARRAY_LENGTH ARRAY_LOWER ARRAY_NDIMS ARRAY_POSITION
    ARRAY_POSITIONS ARRAY_PREPEND ARRAY_REMOVE ARRAY_REPLACE ARRAY_TO_JSON ARRAY_TO_STRING
    ARRAY_UPPER CARDINALITY GENERATE_SERIES GENERATE_SUBSCRIPTS TRIM_ARRAY UNNEST ISEMPTY LOWER_INC
    LOWER_INF UPPER_INC UPPER_INF RANGE_MERGE MULTIRANGE INT4RANGE INT8RANGE NUMRANGE TSRANGE
    TSTZRANGE DATERANGE ENUM_FIRST ENUM_LAST ENUM_RANGE

    JSONB_ARRAY_ELEMENTS JSONB_ARRAY_ELEMENTS_TEXT JSONB_ARRAY_LENGTH JSONB_BUILD_ARRAY
    JSONB_BUILD_OBJECT JSONB_EACH JSONB_EACH_TEXT JSONB_EXTRACT_PATH JSONB_EXTRACT_PATH_TEXT
    JSONB_OBJECT JSONB_OBJECT_KEYS JSONB_PATH_EXISTS JSONB_PATH_MATCH JSONB_PATH_QUERY
    JSONB_PATH_QUERY_ARRAY JSONB_PATH_QUERY_FIRST JSONB_PRETTY JSONB_SET JSONB_STRIP_NULLS
    JSONB_TO_RECORD JSONB_TO_RECORDSET JSONB_TYPEOF JSON_ARRAY_ELEMENTS JSON_ARRAY_ELEMENTS_TEXT
    JSON_ARRAY_LENGTH JSON_BUILD_ARRAY JSON_BUILD_OBJECT JSON_EACH JSON_EACH_TEXT JSON_EXTRACT_PATH
    JSON_EXTRACT_PATH_TEXT JSON_OBJECT JSON_OBJECT_KEYS JSON_STRIP_NULLS JSON_TO_RECORD
    JSON_TO_RECORDSET JSON_TYPEOF ROW_TO_JSON TO_JSON TO_JSONB

    PLAINTO_TSQUERY PHRASETO_TSQUERY TO_TSQUERY TO_TSVECTOR TS_HEADLINE TS_RANK TS_RANK_CD
    WEBSEARCH_TO_TSQUERY

    ABBREV BROADCAST FAMILY HOST HOSTMASK MASKLEN NETMASK NETWORK INET_SAME_FAMILY GEN_RANDOM_UUID

    COL_DESCRIPTION CURRENT_CATALOG CURRENT_DATABASE CURRENT_SCHEMAS FORMAT_TYPE
    HAS_COLUMN_PRIVILEGE HAS_DATABASE_PRIVILEGE HAS_SCHEMA_PRIVILEGE HAS_TABLE_PRIVILEGE
    INET_CLIENT_ADDR INET_CLIENT_PORT INET_SERVER_ADDR INET_SERVER_PORT MXID_AGE OBJ_DESCRIPTION
    PG_BACKEND_PID PG_BLOCKING_PIDS PG_CLIENT_ENCODING PG_COLUMN_SIZE PG_CONF_LOAD_TIME
    PG_CURRENT_SNAPSHOT PG_CURRENT_WAL_LSN PG_DATABASE_SIZE PG_DESCRIBE_OBJECT PG_ENCODING_TO_CHAR
    PG_GET_CONSTRAINTDEF PG_GET_EXPR PG_GET_FUNCTIONDEF PG_GET_FUNCTION_ARGUMENTS
    PG_GET_FUNCTION_RESULT PG_GET_INDEXDEF PG_GET_PARTKEYDEF PG_GET_RULEDEF PG_GET_SERIAL_SEQUENCE
    PG_GET_STATISTICSOBJDEF PG_GET_TRIGGERDEF PG_GET_USERBYID PG_GET_VIEWDEF PG_INDEXES_SIZE
    PG_INDEX_COLUMN_HAS_PROPERTY PG_INDEX_HAS_PROPERTY PG_IS_IN_RECOVERY PG_IS_WAL_REPLAY_PAUSED
    PG_LAST_WAL_RECEIVE_LSN PG_LAST_WAL_REPLAY_LSN PG_LAST_XACT_REPLAY_TIMESTAMP
    PG_PARTITION_ANCESTORS PG_PARTITION_ROOT PG_PARTITION_TREE PG_POSTMASTER_START_TIME
    PG_RELATION_SIZE PG_SAFE_SNAPSHOT_BLOCKING_PIDS PG_SEQUENCE_LAST_VALUE PG_SIZE_BYTES
    PG_SIZE_PRETTY PG_TABLESPACE_SIZE PG_TABLE_IS_VISIBLE PG_TABLE_SIZE PG_TOTAL_RELATION_SIZE
    PG_TYPEOF PG_WAL_LSN_DIFF PG_XACT_COMMIT_TIMESTAMP SHOBJ_DESCRIPTION TO_REGCLASS
    TXID_CURRENT_IF_ASSIGNED VERSION PG_STAT_GET_NUMSCANS PG_STAT_GET_LIVE_TUPLES
    PG_STAT_GET_DEAD_TUPLES
    """
)
"""Functions of pg_catalog that only compute or describe, in upper case; sent qualified."""

BEFORE_PARENTHESIS = words(
    """
    ALL AND ANY ARRAY AS BETWEEN BY CASE CROSS CUBE DISTINCT ELSE END ESCAPE EXCEPT EXISTS EXPLAIN
    FETCH FILTER FROM FULL GROUP GROUPS HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LATERAL
    LEFT LIKE LIMIT MATERIALIZED NATURAL NOT OFFSET ON OR ORDER OUTER OVER OVERLAPS PARTITION RANGE
    RIGHT ROLLUP ROW ROWS SELECT SETS SIMILAR SOME THEN TO UNION USING VALUES WHEN WHERE WITH ONLY
    BERNOULLI SYSTEM

    BIT CHAR CHARACTER DECIMAL FLOAT NUMERIC TIME TIMESTAMP TIMESTAMPTZ TIMETZ VARCHAR VARBIT
    """
)
"""Keywords and types that stand before a parenthesis without being calls."""

NEVER_WORDS = words(
    """
    ALTER ANALYZE CALL CHECKPOINT CLUSTER COMMIT COPY CREATE DELETE DO DROP EXECUTE GRANT INSERT
    INTO LISTEN LOAD LOCK MERGE NOTIFY PREPARE REFRESH REINDEX RENAME RETURNING REVOKE ROLLBACK
    SHARE TRUNCATE UPDATE VACUUM
    """
)
"""Words that, outside quotes, no query needs (all names are sent quoted)."""

WITHOUT_PARENTHESES = words("USER CURRENT_CATALOG CURRENT_ROLE")
"""Functions written like a column; sqlglot takes them for one."""

CATALOG_TABLES = words(
    """
    pg_aggregate pg_am pg_amop pg_amproc pg_attrdef pg_attribute pg_auth_members
    pg_available_extensions pg_available_extension_versions pg_cast pg_class pg_collation
    pg_constraint pg_conversion pg_cursors pg_database pg_default_acl pg_depend pg_description
    pg_enum pg_event_trigger pg_extension pg_group pg_index pg_indexes pg_inherits pg_language
    pg_locks pg_matviews pg_namespace pg_opclass pg_operator pg_opfamily pg_partitioned_table
    pg_policies pg_policy pg_prepared_statements pg_prepared_xacts pg_proc pg_publication
    pg_publication_rel pg_publication_tables pg_range pg_replication_origin
    pg_replication_origin_status pg_replication_slots pg_rewrite pg_roles pg_rules pg_sequence
    pg_sequences pg_settings pg_shdepend pg_shdescription pg_stat_activity pg_stat_all_indexes
    pg_stat_all_tables pg_stat_archiver pg_stat_bgwriter pg_stat_checkpointer pg_stat_database
    pg_stat_database_conflicts pg_stat_gssapi pg_stat_io pg_stat_progress_analyze
    pg_stat_progress_basebackup pg_stat_progress_cluster pg_stat_progress_copy
    pg_stat_progress_create_index pg_stat_progress_vacuum pg_stat_recovery_prefetch
    pg_stat_replication pg_stat_replication_slots pg_stat_slru pg_stat_ssl pg_stat_subscription
    pg_stat_subscription_stats pg_stat_sys_indexes pg_stat_sys_tables pg_stat_user_functions
    pg_stat_user_indexes pg_stat_user_tables pg_stat_wal pg_stat_wal_receiver
    pg_stat_xact_all_tables pg_stat_xact_sys_tables pg_stat_xact_user_functions
    pg_stat_xact_user_tables pg_statio_all_indexes pg_statio_all_sequences pg_statio_all_tables
    pg_statio_sys_indexes pg_statio_sys_tables pg_statio_user_indexes pg_statio_user_sequences
    pg_statio_user_tables pg_statistic_ext pg_subscription_rel pg_tables pg_tablespace
    pg_timezone_abbrevs pg_timezone_names pg_transform pg_trigger pg_ts_config pg_ts_dict pg_type
    pg_user pg_views pg_wait_events
    """
)
"""Tables and views of pg_catalog that may be read. None holds password hashes (pg_authid,
pg_shadow), connection strings (pg_subscription, pg_user_mappings, pg_foreign_server), the server's
files (pg_hba_file_rules, pg_file_settings), large objects, or samples of columns (pg_statistic,
pg_stats)."""

EXTENSION_VIEWS = words("pg_stat_statements pg_stat_statements_info pg_stat_kcache pg_buffercache")
"""Views of extensions whose names look like the catalog's; they live in any schema."""

NEVER_INFORMATION = words("foreign_server_options user_mapping_options foreign_table_options")
"""Views of information_schema that hold the credentials of foreign servers."""

NEVER_SHOWN = words(
    """
    primary_conninfo ssl_passphrase_command archive_command restore_command archive_cleanup_command
    recovery_end_command krb_server_keyfile local_preload_libraries
    """
)
"""Settings whose value may hold a password."""
