"""The plugin passes the conformance kit that third-party authors run."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from diagnosis.testing.conformance import check_evidence_tool
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_mysql.tool import MysqlTool


@pytest.mark.service("mysql")
async def test_it_keeps_the_contract_of_evidence_tools(server) -> None:
    await server.rows("CREATE TABLE 订单 (id INT, 备注 TEXT)")
    await server.rows("INSERT INTO 订单 SELECT n, REPEAT('超时', 500) FROM numbers")
    await server.rows("COMMIT")
    settings = MysqlSettings(url=server.url())
    password = "s3cr3t-p4ssword"
    gone = MysqlSettings(url=SecretStr(f"mysql://reader:{password}@127.0.0.1:9/shop"))

    async def is_working() -> bool:
        return bool(await server.running("numbers%numbers%numbers%numbers"))

    report = await check_evidence_tool(
        MysqlTool(settings),
        requests=[
            {"sql": "SELECT * FROM 订单"},
            {"sql": "SHOW TABLES"},
            {"sql": "SELECT n FROM numbers WHERE n < 3", "database": server.schema},
        ],
        empty_request={"sql": "SELECT n FROM numbers WHERE n < 0"},
        rejected_requests=[
            {"sql": "DROP TABLE numbers"},
            {"sql": "SELECT 1", "database": "mysql"},
            {"sql": ""},
            {"sql": "SELECT 1", "unknown": 1},
        ],
        large_request={"sql": "SELECT 备注, n FROM 订单, numbers WHERE n < 100"},
        slow_request={"sql": "SELECT COUNT(*) FROM numbers a, numbers b, numbers c, numbers d"},
        is_working=is_working,
        unavailable_tool=MysqlTool(gone),
        settings=gone,
        secrets=[password],
    )
    assert report.not_run == ("paging",)  # SQL has its own LIMIT
