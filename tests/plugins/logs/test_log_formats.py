"""Logs of real software: how many records, when, how bad and whose; each told by its own lines."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from diagnosis_logs.fields import RecordFields
from diagnosis_logs.records import Record, read_records
from diagnosis_logs.shapes import RecordStarts, learn_shape
from diagnosis_logs.timestamps import iso, to_instant

MODIFIED = to_instant(datetime(2026, 12, 1, tzinfo=UTC))

# name, lines, and for each record: time (of 2026-11-30 where it begins with T), level or the
# severity after "~" where none is stated, service ("" for the file's), how its message begins
Case = tuple[str, str, list[tuple[str | None, str | None, str, str]]]

PLAIN: list[Case] = [
    (
        "log4j with a trace",
        "2026-11-30 10:00:00,123 [main] ERROR c.e.Foo - failed\n"
        "java.lang.IllegalStateException: no stock\n"
        "\tat com.example.Foo.take(Foo.java:42)\n"
        "Caused by: java.io.IOException: 2020-01-01 00:00:00 is too old\n"
        "\t... 3 more\n"
        "2026-11-30 10:00:01,000 [pool 1 thread 2] INFO  c.e.Foo - next\n",
        [("T10:00:00.123", "ERROR", "", " [main] ERROR"), ("T10:00:01", "INFO", "", " [pool")],
    ),
    (
        "logback without a date",
        "10:00:00.123 [main] ERROR c.e.Foo - failed\n10:00:01.000 [main] INFO  c.e.Foo - next\n",
        [("T10:00:00.123", "ERROR", "", " [main] ERROR"), ("T10:00:01", "INFO", "", " [main]")],
    ),
    (
        "Python logging with a traceback",
        "2026-11-30 10:00:00,123 - shop.pay - ERROR - failed\n"
        "Traceback (most recent call last):\n"
        '  File "pay.py", line 3, in pay\n'
        "ValueError: no stock\n"
        "2026-11-30 10:00:01,000 - shop.pay - INFO - 0 ERROR lines\n",
        [("T10:00:00.123", "ERROR", "", " - shop"), ("T10:00:01", "INFO", "", " - shop")],
    ),
    (
        "Python logging by default",
        "ERROR:root:failed\nTraceback (most recent call last):\n  File x\nValueError: y\n"
        "INFO:root:ok\n",
        [(None, "ERROR", "", "ERROR:root"), (None, "INFO", "", "INFO:root")],
    ),
    (
        "Go log",
        "2026/11/30 10:00:00 listening\n"
        "2026/11/30 10:00:01 panic: runtime error: index out of range\n\n"
        "goroutine 1 [running]:\nmain.main()\n\t/app/main.go:5 +0x1d\n",
        [("T10:00:00", None, "", " listening"), ("T10:00:01", "FATAL", "", " panic")],
    ),
    (
        "zap console",
        '2026-11-30T10:00:00.123Z\tERROR\tapi\tserver.go:10\tfailed\t{"id": 1}\n'
        '2026-11-30T10:00:01.123+0800\tINFO\tapi\tserver.go:10\tok\t{"id": 1}\n',
        [("T10:00:00.123", "ERROR", "", ""), ("T02:00:01.123", "INFO", "", "")],
    ),
    (
        "logrus text",
        'time="2026-11-30T10:00:00Z" level=error msg="no stock" service=cart\n'
        'time="2026-11-30T10:00:01Z" level=info msg="a \\"b\\"" service=cart\n',
        [("T10:00:00", "ERROR", "cart", "no stock"), ("T10:00:01", "INFO", "cart", 'a "b"')],
    ),
    (
        "logfmt with its time last",
        'level=warn msg="slow disk" app=db ts=2026-11-30T10:00:00.5Z\n'
        "msg=ok app=db level=info ts=2026-11-30T10:00:01Z\n",
        [("T10:00:00.5", "WARN", "db", "slow disk"), ("T10:00:01", "INFO", "db", "ok")],
    ),
    (
        "Spring Boot 2",
        "2026-11-30 10:00:00.123 ERROR [shop,64af,64af] 7 --- [nio-8080-exec-1] c.e.Pay : failed\n"
        "2026-11-30 10:00:00.124  INFO [shop,,] 7 --- [           main] c.e.Pay : ok\n",
        [("T10:00:00.123", "ERROR", "shop", ""), ("T10:00:00.124", "INFO", "shop", "")],
    ),
    (
        "Spring Boot 3",
        "2026-11-30T10:00:00.123+08:00 ERROR 7 --- [shop] [nio-8080-exec-1] c.e.Pay : failed\n"
        "2026-11-30T10:00:00.124+08:00  WARN 7 --- [shop] [main] c.e.Pay : slow\n",
        [("T02:00:00.123", "ERROR", "shop", ""), ("T02:00:00.124", "WARN", "shop", "")],
    ),
    (
        "klog",
        "I1130 10:00:00.123456    1 server.go:12] ok\nE1130 10:00:01.000000    1 a.go:1] failed\n",
        [("T10:00:00.123456", "INFO", "", ""), ("T10:00:01", "ERROR", "", "")],
    ),
    (
        "glog with a year",
        "W20261130 10:00:00.123456   77 a.cc:12] slow\nF20261130 10:00:01.000000 77 a.cc:1] over\n",
        [("T10:00:00.123456", "WARN", "", ""), ("T10:00:01", "FATAL", "", "")],
    ),
    (
        "syslog RFC 3164",
        "<11>Nov 30 10:00:00 web1 nginx[7]: bad\n<14>Nov 30 10:00:01 web1 cron: ok\n",
        [("T10:00:00", "ERROR", "nginx", ""), ("T10:00:01", "INFO", "cron", "")],
    ),
    (
        "syslog RFC 5424",
        "<165>1 2026-11-30T10:00:00.003Z host.example evntslog 7 ID47 [x@1 a=\"b\"] hello\n"
        "<34>1 2026-11-30T10:00:01+01:00 host su - ID47 - 'su root' failed\n",
        [("T10:00:00.003", "INFO", "evntslog", ""), ("T09:00:01", "FATAL", "su", "")],
    ),
    (
        "journalctl -o short-iso",
        "2026-11-30T10:00:00+0800 web1 kernel: oom-kill: x\n"
        "2026-11-30T10:00:01+0800 web1 sshd[7]: Accepted publickey\n",
        [("T02:00:00", "~ERROR", "kernel", ""), ("T02:00:01", None, "sshd", "")],
    ),
    (
        "Apache error log 2.2",
        "[Mon Nov 30 10:00:00 2026] [error] [client ::1] File does not exist\n"
        "[Mon Nov 30 10:00:01 2026] [notice] ready\n",
        [("T10:00:00", "ERROR", "", ""), ("T10:00:01", "INFO", "", "")],
    ),
    (
        "Apache error log 2.4",
        "[Mon Nov 30 10:00:00.902022 2026] [core:error] [pid 35708:tid 4328636416] AH00036: x\n",
        [("T10:00:00.902022", "ERROR", "", "")],
    ),
    (
        "nginx error log",
        "2026/11/30 10:00:00 [error] 12#12: *3 connect() failed\n"
        "2026/11/30 10:00:01 [crit] 12#12: *3 SSL_do_handshake() failed\n",
        [("T10:00:00", "ERROR", "", ""), ("T10:00:01", "FATAL", "", "")],
    ),
    (
        "combined access log",
        '10.0.0.1 - bob [30/Nov/2026:10:00:00 +0800] "GET /a HTTP/1.1" 502 5 "-" "curl/8"\n'
        '::1 - - [30/Nov/2026:10:00:01 +0800] "POST /a HTTP/2.0" 404 5 "-" "curl" 0.250 0.249\n'
        '::1 - - [30/Nov/2026:10:00:02 +0800] "GET /error HTTP/1.1" 200 503\n'
        '::1 - - [30/Nov/2026:10:00:03 +0800] "-" 400 0 "-" "-"\n',
        [
            ("T02:00:00", "~ERROR", "", ""), ("T02:00:01", "~WARN", "", ""),
            ("T02:00:02", "~INFO", "", ""), ("T02:00:03", "~WARN", "", ""),
        ],
    ),
    (
        "HAProxy",
        "Nov 30 10:00:00 lb haproxy[14389]: 10.0.1.2:33317 [30/Nov/2026:10:00:00.655] http-in "
        'static/srv1 10/0/30/69/109 503 2750 - - ---- 1/1/1/1/0 0/0 "GET /index.html HTTP/1.1"\n',
        [("T10:00:00", "~ERROR", "haproxy", "")],
    ),
    (
        "IIS W3C",
        "#Software: Microsoft Internet Information Services 10.0\n"
        "#Fields: date time s-ip cs-method cs-uri-stem s-port c-ip sc-status time-taken\n"
        "2026-11-30 10:00:00 10.0.0.1 GET /pay 443 10.0.0.9 500 31\n"
        "2026-11-30 10:00:01 10.0.0.1 GET /pay 443 10.0.0.9 200 31\n",
        [(None, None, "", ""), ("T10:00:00", "~ERROR", "", ""), ("T10:00:01", "~INFO", "", "")],
    ),
    (
        "Squid",
        "1796032800.123    100 10.0.0.1 TCP_MISS/503 1234 GET http://x/ - DIRECT/1.2.3.4 html\n",
        [("T10:00:00.123", "~ERROR", "", "")],
    ),
    (
        "Tomcat",
        "30-Nov-2026 10:00:00.123 SEVERE [main] org.apache.X.start failed\n"
        "30-Nov-2026 10:00:01.000 INFO [main] org.apache.X.start ok\n",
        [("T10:00:00.123", "ERROR", "", ""), ("T10:00:01", "INFO", "", "")],
    ),
    (
        "java.util.logging",
        "Nov 30, 2026 10:00:00 AM com.example.Foo bar\nSEVERE: failed\n"
        "Nov 30, 2026 3:00:01 PM com.example.Foo bar\nINFO: ok\n",
        [("T10:00:00", "ERROR", "", ""), ("T15:00:01", "INFO", "", "")],
    ),
    (
        "java.util.logging in Chinese",
        "十一月 30, 2026 10:00:00 上午 com.example.Foo bar\n严重: 失败\n"
        "十一月 30, 2026 3:00:01 下午 com.example.Foo bar\n信息: 好\n",
        [("T10:00:00", "ERROR", "", ""), ("T15:00:01", "INFO", "", "")],
    ),
    (
        "MySQL 8 error log",
        "2026-11-30T10:00:00.123456Z 0 [ERROR] [MY-012345] [InnoDB] Cannot open\n"
        "2026-11-30T10:00:01.123456Z 0 [System] [MY-010116] [Server] starting\n"
        "2026-11-30T10:00:02.123456Z 9 [Note] [MY-010116] [Server] x\n",
        [
            ("T10:00:00.123456", "ERROR", "", ""), ("T10:00:01.123456", "INFO", "", ""),
            ("T10:00:02.123456", "INFO", "", ""),
        ],
    ),
    (
        "MariaDB error log",
        "2026-11-30 10:00:00 0 [Warning] Aborted connection\n2026-11-30  9:00:00 0 [ERROR] x\n",
        [("T10:00:00", "WARN", "", ""), ("T09:00:00", "ERROR", "", "")],
    ),
    (
        "old MySQL error log",
        "261130 10:00:00 [ERROR] Table crashed\n261130  9:00:01 [Note] ready\n",
        [("T10:00:00", "ERROR", "", ""), ("T09:00:01", "INFO", "", "")],
    ),
    (
        "MySQL slow queries",
        "# Time: 2026-11-30T10:00:00.123456Z\n# User@Host: shop[shop] @  [10.0.0.1]  Id: 7\n"
        "# Query_time: 12.5  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 900000\n"
        "SET timestamp=1796032800;\nSELECT * FROM orders\nWHERE note = 'error';\n"
        "# Time: 2026-11-30T10:00:09.000000Z\n# User@Host: shop[shop] @  [10.0.0.1]  Id: 7\n"
        "# Query_time: 2.5  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 9\n"
        "SET timestamp=1796032807;\nSELECT 2;\n",
        [
            ("T10:00:00.123456", "~WARN", "", "SELECT * FROM orders WHERE"),
            ("T10:00:09", "~WARN", "", "SELECT 2;"),
        ],
    ),
    (
        "MariaDB slow queries of one second",
        "# Time: 261130 10:00:00\n# User@Host: a[a] @ localhost []\n"
        "# Query_time: 3.0  Lock_time: 0.0\nuse shop;\nSET timestamp=1796032800;\nSELECT 1;\n"
        "# User@Host: b[b] @ localhost []\n"
        "# Query_time: 2.0  Lock_time: 0.0\nSET timestamp=1796032800;\nSELECT 2;\n",
        [("T10:00:00", "~WARN", "", "SELECT 1;"), ("T10:00:00", "~WARN", "", "SELECT 2;")],
    ),
    (
        "PostgreSQL",
        '2026-11-30 10:00:00.123 UTC [123] ERROR:  relation "x" does not exist at character 15\n'
        "2026-11-30 10:00:00.123 UTC [123] STATEMENT:  select *\n\tfrom x;\n"
        "2026-11-30 10:00:01.000 UTC [124] LOG:  checkpoint starting: time\n"
        "2026-11-30 10:00:02.000 UTC [125] FATAL:  too many connections\n",
        [
            ("T10:00:00.123", "ERROR", "", ""), ("T10:00:01", "INFO", "", ""),
            ("T10:00:02", "FATAL", "", ""),
        ],
    ),
    (
        "PostgreSQL in the configured zone's name",
        "2026-11-30 10:00:00.123 MSK [123] WARNING:  x\n",
        [("T07:00:00.123", "WARN", "", "")],
    ),
    (
        "Redis",
        "1:M 30 Nov 2026 10:00:00.123 # Background saving error\n"
        "1:M 30 Nov 2026 10:00:01.000 * Ready\n",
        [("T10:00:00.123", "WARN", "", ""), ("T10:00:01", "INFO", "", "")],
    ),
    (
        "RabbitMQ",
        "2026-11-30 10:00:00.123456+00:00 [error] <0.123.0> Channel error\n"
        "2026-11-30 10:00:01.123456+00:00 [info] <0.123.0> ok\n",
        [("T10:00:00.123456", "ERROR", "", ""), ("T10:00:01.123456", "INFO", "", "")],
    ),
    (
        "old RabbitMQ",
        "=ERROR REPORT==== 30-Nov-2026::10:00:00 ===\nclosing AMQP connection\n\n"
        "=INFO REPORT==== 30-Nov-2026::10:00:01 ===\naccepting\n",
        [("T10:00:00", "ERROR", "", ""), ("T10:00:01", "INFO", "", "")],
    ),
    (
        "MongoDB before 4.4",
        "2026-11-30T10:00:00.123+0000 I NETWORK  [listener] connection accepted\n"
        "2026-11-30T10:00:01.123+0000 E STORAGE  [conn1] WiredTiger\n",
        [("T10:00:00.123", "INFO", "", ""), ("T10:00:01.123", "ERROR", "", "")],
    ),
    (
        "etcd",
        "2026-11-30 10:00:00.123456 W | etcdserver: read-only range request took too long\n",
        [("T10:00:00.123456", "WARN", "", "")],
    ),
    (
        "Elasticsearch",
        "[2026-11-30T10:00:00,123][WARN ][o.e.c.r.a.DiskThresholdMonitor] [node-1] high disk\n"
        "[2026-11-30T10:00:01,123][ERROR][o.e.b.Bootstrap] [node-1] Exception\n"
        "java.lang.IllegalStateException: x\n\tat org.e.X.y(X.java:1)\n",
        [("T10:00:00.123", "WARN", "", ""), ("T10:00:01.123", "ERROR", "", "")],
    ),
    (
        "Kafka",
        "[2026-11-30 10:00:00,123] ERROR [Broker id=1] failed (kafka.server.KafkaServer)\n",
        [("T10:00:00.123", "ERROR", "", "")],
    ),
    (
        "Cassandra",
        "INFO  [main] 2026-11-30 10:00:00,123 StorageService.java:1 - ok\n"
        "ERROR [ReadStage-1] 2026-11-30 10:00:01,123 X.java:1 - failed\n",
        [("T10:00:00.123", "INFO", "", ""), ("T10:00:01.123", "ERROR", "", "")],
    ),
    (
        "Celery",
        "[2026-11-30 10:00:00,123: ERROR/ForkPoolWorker-1] Task failed\n",
        [("T10:00:00.123", "ERROR", "", "")],
    ),
    (
        "gunicorn",
        "[2026-11-30 10:00:00 +0000] [123] [CRITICAL] WORKER TIMEOUT (pid:7)\n",
        [("T10:00:00", "FATAL", "", "")],
    ),
    (
        "Rails",
        "E, [2026-11-30T10:00:00.123456 #1234] ERROR -- : failed\n"
        "I, [2026-11-30T10:00:01.123456 #1234]  INFO -- : ok\n",
        [("T10:00:00.123456", "ERROR", "", ""), ("T10:00:01.123456", "INFO", "", "")],
    ),
    (
        "PHP",
        "[30-Nov-2026 10:00:00 UTC] PHP Fatal error:  Uncaught Error\n"
        "[30-Nov-2026 10:00:01 UTC] PHP Warning:  x\n",
        [("T10:00:00", "FATAL", "", ""), ("T10:00:01", "WARN", "", "")],
    ),
    (
        "Laravel",
        '[2026-11-30 10:00:00] production.ERROR: failed {"x":1}\n[stacktrace]\n#0 /app/x.php(1)\n'
        "[2026-11-30 10:00:01] production.INFO: ok\n",
        [("T10:00:00", "ERROR", "", ""), ("T10:00:01", "INFO", "", "")],
    ),
    (
        "Serilog and NLog",
        "2026-11-30 10:00:00.123 +00:00 [ERR] failed\nSystem.Exception: x\n   at A.B() in C.cs\n"
        "--- End of stack trace ---\n2026-11-30 10:00:01.1234|WARN|App.X|slow\n",
        [("T10:00:00.123", "ERROR", "", ""), ("T10:00:01.1234", "WARN", "", "")],
    ),
    (
        "Envoy",
        "[2026-11-30 10:00:00.123][1][warning][upstream] [source/x.cc:1] timeout\n",
        [("T10:00:00.123", "WARN", "", "")],
    ),
    (
        "hclog",
        "2026-11-30T10:00:00.123Z [ERROR] agent: failed\n",
        [("T10:00:00.123", "ERROR", "", "")],
    ),
    (
        "Rust tracing in colours",
        "\x1b[2m2026-11-30T10:00:00.123456Z\x1b[0m \x1b[31mERROR\x1b[0m \x1b[2mapp\x1b[0m: x\n",
        [("T10:00:00.123456", "ERROR", "", "")],
    ),
    (
        "Android logcat",
        "11-30 10:00:00.123  1234  5678 E ActivityManager: ANR\n",
        [("T10:00:00.123", "ERROR", "", "")],
    ),
    (
        "auditd",
        "type=SYSCALL msg=audit(1796032800.123:456): arch=c000003e syscall=59\n",
        [("T10:00:00.123", None, "", "")],
    ),
    (
        "dmesg",
        "[12345.678901] usb 1-1: new device\n[12346.000000] BUG: soft lockup\n",
        [(None, None, "", ""), (None, "~ERROR", "", "")],
    ),
    (
        "Nagios",
        "[1796032800] SERVICE ALERT: web;HTTP;CRITICAL;HARD\n",
        [("T10:00:00", "FATAL", "", "")],
    ),
    ("epoch milliseconds", "1796032800123 up\n", [("T10:00:00.123", None, "", "")]),
    (
        "twelve hours",
        "11/30/2026 10:00:00 AM ERROR x\n11/30/2026 12:00:00 PM INFO y\n",
        [("T10:00:00", "ERROR", "", ""), ("T12:00:00", "INFO", "", "")],
    ),
    (
        "day before month",
        "28.11.2026 10:00:00 ERROR x\n01.12.2026 10:00:00 INFO y\n",
        [("2026-11-28T10:00:00", "ERROR", "", ""), ("2026-12-01T10:00:00", "INFO", "", "")],
    ),
    (
        "WebSphere",
        "[11/30/26 10:00:00:123 UTC] 00000001 WsServerImpl  A   WSVR0001I: open\n",
        [("T10:00:00.123", "INFO", "", "")],
    ),
    (
        "Chinese",
        "2026年11月30日 10:00:00 [错误] 支付失败\n2026年11月30日 10:00:01 [调试] 好\n"
        "2026年11月30日 10:00:02 警告：磁盘将满\n",
        [
            ("T10:00:00", "ERROR", "", ""), ("T10:00:01", "DEBUG", "", ""),
            ("T10:00:02", "WARN", "", ""),
        ],
    ),
    (
        "Chinese half days",
        "2026/11/30 上午10:00:00 信息 好\n2026/11/30 下午3:00:01 严重 坏\n",
        [("T10:00:00", "INFO", "", ""), ("T15:00:01", "ERROR", "", "")],
    ),
    (
        "SQL Server",
        "2026-11-30 10:00:00.12 spid51      Error: 18456, Severity: 14, State: 8.\n",
        [("T10:00:00.12", "~ERROR", "", "")],
    ),
    (
        "Windows servicing",
        "2026-11-30 10:00:00, Info                  CBS    Loaded\n"
        "2026-11-30 10:00:01, Error                 CBS    failed\n",
        [("T10:00:00", "INFO", "", ""), ("T10:00:01", "ERROR", "", "")],
    ),
    (
        "docker compose",
        "web_1  | 2026-11-30T10:00:00Z ERROR failed\ndb_1   | 2026-11-30T10:00:01Z INFO ok\n",
        [("T10:00:00", "ERROR", "web_1", ""), ("T10:00:01", "INFO", "db_1", "")],
    ),
    (
        "the date of Java and date(1)",
        "Mon Nov 30 10:00:00 UTC 2026 ERROR x\n",
        [("T10:00:00", "ERROR", "", "")],
    ),
    (
        "application and access lines in one file",
        "2026-11-30 10:00:00,123 INFO [main] up\n"
        '10.0.0.1 - - [30/Nov/2026:10:00:01 +0000] "GET / HTTP/1.1" 500 5\n'
        '{"ts":"2026-11-30T10:00:02Z","level":"warn","msg":"slow"}\n'
        "  a line that is nothing\n",
        [
            ("T10:00:00.123", "INFO", "", ""), ("T10:00:01", "~ERROR", "", ""),
            ("T10:00:02", "WARN", "", "slow"),
        ],
    ),
]  # fmt: skip


def told(text: str, service: str = "file") -> list[tuple[str | None, str | None, str, str, Record]]:
    """Time, level or severity, service, message and record of each record of a log."""
    lines = text.removesuffix("\n").split("\n")
    shape = learn_shape(lines)
    starts = RecordStarts(shape, UTC, MODIFIED)
    fields = RecordFields(shape, service)
    found = []
    for record in read_records([lines], starts):
        level = fields.level(record)
        severity = fields.severity(record, level)
        shown = level.name if level is not None else f"~{severity.name}" if severity else None
        instant = None if record.instant is None else iso(record.instant, UTC)
        found.append((instant, shown, fields.service(record), fields.message(record), record))
    return found


def check(case: Case) -> None:
    name, text, expected = case
    found = told(text)
    assert len(found) == len(expected), (name, [record.first for *_, record in found])
    for (time, level, service, message, _), wanted in zip(found, expected, strict=True):
        if wanted[0] is None:
            assert time is None
        else:
            assert time is not None, name
            at = f"2026-11-30{wanted[0]}" if wanted[0].startswith("T") else wanted[0]
            assert datetime.fromisoformat(time) == datetime.fromisoformat(at).replace(tzinfo=UTC)
        assert (level, service) == (wanted[1], wanted[2] or "file")
        assert message.startswith(wanted[3])
    lines = [line for *_, record in found for line in record.lines]
    assert lines == text.removesuffix("\n").split("\n")  # nothing is lost, nothing told twice


@pytest.mark.parametrize("case", PLAIN, ids=[case[0] for case in PLAIN])
def test_log_of_text(case: Case) -> None:
    check(case)
