"""The plugin passes the conformance kit that third-party authors run."""

from __future__ import annotations

import pytest

from diagnosis.testing.conformance import check_evidence_tool
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_mysql.tool import MysqlTool


@pytest.mark.service("mysql")
async def test_it_keeps_the_contract_of_evidence_tools(server) -> None:
    await server.rows("CREATE TABLE 订单 (id INT, 备注 TEXT)")
    await server.rows("INSERT INTO 订单 SELECT n, REPEAT('超时', 500) FROM numbers")
    await server.rows("COMMIT")
    report = await check_evidence_tool(
        MysqlTool(MysqlSettings(url=server.url())),
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
        slow_request={"sql": "SELECT COUNT(*) FROM numbers a, numbers b, numbers c, numbers d"},
    )
    assert {"cancellation", "concurrency", "rejection", "projection"} <= set(report.passed)
