"""What a hostile line costs: the work grows with the line's length, never with its square."""

import time
from datetime import UTC

from diagnosis_logs.fields import RecordFields
from diagnosis_logs.records import Record
from diagnosis_logs.shapes import RecordStarts, learn_shape

LEARNED = [
    "2026-11-30 10:00:00,123 [main] ERROR x",
    '{"ts":"2026-11-30T10:00:00Z","level":"info","msg":"x"}',
    "time=2026-11-30T10:00:00Z level=info msg=x",
    '::1 - - [30/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5',
    "a b c 2026-11-30 10:00:00 UTC LOG:  x",
]
HEADS = ["", "2026-11-30 10:00:00 ", '{"ts":"2026-11-30T10:00:00Z","msg":"']
UNITS = [
    " ", "1", "[", "(", '"', "=", "a=", 'a="', "\\", "{", '{"a":', "a ", "- ", "1 ", "/", ":",
    "<1>", "\x1b[1m", "[a] ", "12:", "2026-", "A", "错", "0/0/0/0/0 ", '" 2', "a: ", "\t", ".",
    "2026-11-30 ", '"ts":', "|", "2026-11-30T10:00:00Z stdout P ", "}", "error ", "0 errors ",
]  # fmt: skip


def seconds(line):
    """Best time to learn from a line, to find its time and to read its fields."""
    times = []
    for _ in range(3):
        began = time.process_time()
        for sample in ([line], [*LEARNED, line]):
            shape = learn_shape(sample)
            start = RecordStarts(shape, UTC, 1 << 51).start(line)
            fields = RecordFields(shape, "file")
            record = Record(1, 0, line, start[1] if start else 0, None)
            fields.severity(record, fields.level(record))
            fields.service(record)
            fields.message(record)
        times.append(time.process_time() - began)
    return min(times)


def test_log_lines():
    worst = 0.0
    for head in HEADS:
        for unit in UNITS:
            short = seconds(head + unit * (131_072 // len(unit)))
            long = seconds(head + unit * (1_048_576 // len(unit)))
            ratio = (long + 0.001) / (short + 0.001)
            if ratio > worst:
                worst, shown = ratio, head + unit
    print(f"eight times the length: at most {worst:.1f} times the time ({shown[:60]!r})")
    # quadratic work would be 64 times as long
    assert worst < 32
