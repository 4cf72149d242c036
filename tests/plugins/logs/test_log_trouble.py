"""Lines without a level: which of them tell of an error, and how many of the rest are left out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from diagnosis.plugin import EvidenceResult
from diagnosis_logs.trouble import clearly_an_error

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]


@pytest.mark.parametrize(
    "line",
    [
        "x Error: y", "x ERRORS: y", "java.io.IOException: broken pipe", "fatal: no disk",
        "Panic: stop", "Traceback (most recent call last):", "job failed", "authentication failure",
        "kernel: Out of memory: Killed process 4242 (java) total-vm:9G",
        "kernel: java invoked oom-killer: gfp_mask=0x201da, order=0",
        "kernel: oom_kill_process+0x1/0x2", "container was OOMKilled",
        "kernel: app[7]: segfault at 0 ip 0 sp 0 error 4", "Aborted (core dumped)",
        "kernel: Kernel panic - not syncing", "kernel: BUG: soft lockup - CPU#3 stuck for 22s!",
        "write: No space left on device", "sshd[3]: Permission denied (publickey)",
        "dial tcp 10.0.0.1:5432: connect: connection refused", "read timed out after 30 s",
        "Timeout: no response from node2", "upstream request timeout", "timeout exceeded",
        "Network is unreachable", "fork: Cannot allocate memory", "blk_update_request: I/O error",
        "10 errors", "3 failed, 0 skipped", "errors=3", "failed: 0.5 of all", "connect timeout",
        '10.0.0.1 "GET /pay HTTP/1.1" 503 5',
        "订单支付失败", "错误：库存不足", "发生异常", "连接数据库超时", "连接被拒绝", "内存不足",
        "服务崩溃", "失败次数: 3", "10 个失败",
    ],
)  # fmt: skip
def test_line_that_tells_of_an_error(line: str) -> None:
    assert clearly_an_error(line)


@pytest.mark.parametrize(
    "line",
    [
        "terrorist", "unfailing", "panics", 'took "5000 ms"', "started in 3 s", "user logged in",
        "0 errors, 0 warnings", "no errors found", "finished without error", "errors=0",
        "failed: 0", '"failed": 0, "ok": 12', "error: none", "error=null", "not failed",
        "timeout=30", "timeout: 30s", "connect_timeout set", "with timeout 5", "timeout set to 30",
        "--timeout 30", "timeout is 5 s", "idle timeout reached, closing", "no timeout",
        "session.timeout.ms = 45000", "timeouts are configured", '"timeout": "30s"',
        "memory usage 40%", "debug: on", "skilled process engineer", "0 timed out", "room 5000",
        "access denied list loaded", "refused bequest", "space left: 40 GB", "zoom killed",
        '10.0.0.1 "GET /pay HTTP/1.1" 200 503',
        "支付成功", "没有错误", "无异常", "未发现异常", "0 个失败", "失败次数: 0", "错误数：0",
        "超时时间: 30 秒", "超时设置为 30 秒", "失败重试 3 次", "错误码: 0", "异常检测已启动",
    ],
)  # fmt: skip
def test_ordinary_line(line: str) -> None:
    assert not clearly_an_error(line)


@pytest.mark.parametrize("mode", ["lines", "templates", "histogram"])
async def test_lines_left_out_for_want_of_a_level_are_counted(
    write: Write, ask: Ask, mode: str
) -> None:
    log = write(
        "app.log",
        "2024-05-01 11:45:00 nothing said, before the window\n"
        "2024-05-01 12:10:00 INFO up\n"
        "2024-05-01 12:11:00 queue is at 90 %\n"
        "2024-05-01 12:12:00 queue is at 99 %\n"
        "2024-05-01 12:13:00 pool is at 99 %\n"
        "2024-05-01 12:14:00 kernel: Out of memory: Killed process 7\n",
    )
    found = await ask(log, mode=mode, min_level="WARN")
    assert found.scope["lines_without_level_left_out"] == 3
    assert len(found.items) == 1
    narrower = await ask(log, mode=mode, min_level="WARN", contains="queue")
    assert narrower.scope["lines_without_level_left_out"] == 2
    for others in ({}, {"min_level": "INFO", "contains": "memory"}):
        assert "lines_without_level_left_out" not in (await ask(log, mode=mode, **others)).scope
