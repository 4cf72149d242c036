"""The service that a line of text names, or that the path of a log speaks of.

Lines: syslog's tag or app-name, Spring's application. Paths: a pod's workload, a container, the
file's own name, and the folder where that name fits every program.
"""

from __future__ import annotations

import re
from pathlib import Path

from diagnosis_logs.levels import LEVEL_OF_NAME

_TAG = re.compile(
    r"\s{1,2}(\w[\w.:-]{0,127})\s(?:(?:debug|info|notice|warning|warn|err|error|crit|alert|emerg)\s)?"
    r"([A-Za-z_][\w./-]{0,63})(?:\([^)\s]{0,64}\))?(?:\[\d+\])?:"
)
# RFC 5424: host, app-name, procid, msgid
_APP_NAME = re.compile(r"\s\S{1,255}\s([A-Za-z_][\w./-]{0,47})\s\S{1,128}\s\S{1,32}\s")
_TAG_ALONE = re.compile(r"\s([A-Za-z_][\w./-]{0,63})\[[\w.-]{1,32}\]:\s")  # without a host
_FIRST_OF_5424 = re.compile(r"(?:\d{1,5} )?<\d{1,3}>\d\s")
# Spring Boot: [app,trace,span] after the level (2), or [app] after the dashes (3)
_SPRING = re.compile(
    r"\s+[A-Z]{4,5}\s{1,2}(?:\[([^\W\d][\w.-]{0,63}),[\w-]{0,64},[\w-]{0,64}[\],]"
    r"|\d{1,8} --- \[([^\W\d][\w.-]{0,63})\] \[)"
)
_CEF_PRODUCT = re.compile(r".{0,80}?\b(?:CEF|LEEF):[\d.]{1,4}\|[^|]{0,100}\|([^|]{1,64})\|")
_COMPOSE = re.compile(r"([A-Za-z][\w.-]{0,127}) {0,60}\|\s")

_FILE_ENDING = re.compile(r"\.(?:log|jsonl?|ndjson|txt|out|err)(?=[.\-_]|$).*", re.IGNORECASE)
_ROTATION = re.compile(r"(?:\.(?:gz|zst|bz2|xz)|[.-]\d+)+$")
# kubelet: POD_NAMESPACE_CONTAINER-ID.log, and NAMESPACE_POD_UID/CONTAINER/0.log
_POD_FILE = re.compile(r"([a-z0-9][a-z0-9.-]*)_([a-z0-9-]+)_([a-z0-9-]+)-([0-9a-f]{4,64})\.log\b")
_POD_FOLDER = re.compile(r"([a-z0-9-]+)_([a-z0-9][a-z0-9.-]*)_([0-9a-f-]{32,36})\Z")
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
# what Kubernetes puts behind the name of a workload: a replica set's hash and a pod's, a number
_POD_ENDING = re.compile(
    rf"(?:-{_RANDOM}{{8,10}}-{_RANDOM}{{5}}|-(?=[a-z]*\d){_RANDOM}{{4,10}}|-{_RANDOM}{{5}}|-\d{{1,4}})\Z"
)
_CONTAINER_ID = re.compile(r"([0-9a-f]{12})[0-9a-f]{52}(?:-json)?\Z")
_UNIT = re.compile(r"\.(?:service|socket|timer)\Z")
# Names of files that say what is in them, and not of what.
_ANY_PROGRAM = frozenset((
    "app", "application", "server", "service", "main", "output", "out", "err", "stdout", "stderr",
    "error", "errors", "access", "current", "log", "logs", "console", "debug", "info", "warn",
    "warning", "trace", "date", "daily", "latest", "default", "root", "all", "audit", "slow", "gc",
    "messages", "0",
))  # fmt: skip
# Folders in which every service has one of its own, and names that are none of a service.
_FOLDERS_OF_SERVICES = frozenset(("log", "logs", "srv", "opt", "apps", "services"))
_NO_SERVICE = frozenset((
    *_FOLDERS_OF_SERVICES, "var", "tmp", "app", "current", "shared", "data", "archive", "archived",
    "old", "output", "src", "home", "local", "usr", "lib",
))  # fmt: skip


def service_of_file_name(name: str) -> str:
    """The service a log file's name speaks of: `nova-api.log.1.gz` is `nova-api`."""
    return _UNIT.sub("", _FILE_ENDING.sub("", _ROTATION.sub("", name))) or name


def service_of_path(path: Path) -> str:
    """The service a log's path speaks of.

    `/var/log/payments/app.log` is of `payments`: where the file's name fits every program, the
    nearest folder counts that stands below `log`, `logs`, `srv`, `opt`, `apps` or `services`.
    `payments-7d9f8b6c5d-x2x4z_shop_app-0123abcd.log` is of `payments`, as is what stands in the
    folder of that pod. A container's file that shows nothing but its id is of the id's beginning.

    Args:
        path: absolute; without what a rotation adds.
    """
    if pod := _POD_FILE.match(path.name):
        return _workload(pod[1])
    folders = path.parent.parts
    for folder in reversed(folders[-3:]):
        if pod := _POD_FOLDER.match(folder):
            return _workload(pod[2])
    name = service_of_file_name(path.name)
    if container := _CONTAINER_ID.match(name):
        return container[1]
    if name.lower() not in _ANY_PROGRAM:
        return name
    for at in range(len(folders) - 1, 0, -1):
        folder = folders[at].lower()
        if folder in _NO_SERVICE or not re.search("[a-z]", folder):
            continue
        if _FOLDERS_OF_SERVICES.intersection(map(str.lower, folders[:at])):
            return folders[at]
    return name


def _workload(pod: str) -> str:
    """The name of what a pod belongs to."""
    return _POD_ENDING.sub("", pod) or pod


def syslog_tag(line: str, body: int) -> str | None:
    """The program that stands after time and host, or None."""
    found = _TAG.match(line, body)
    if found:
        return found[2] if found[1].lower() not in LEVEL_OF_NAME else None
    alone = _TAG_ALONE.match(line, body)
    return alone[1] if alone and alone[1].lower() not in LEVEL_OF_NAME else None


def service_of_text(line: str, body: int, *, tagged: bool) -> str | None:
    """The service a line names, or None.

    Args:
        line: the first line of a record.
        body: where its time ends.
        tagged: whether the file's lines name a host and a program after their time.
    """
    if _FIRST_OF_5424.match(line):
        named = _APP_NAME.match(line, body)
        return named[1] if named else None
    if tagged and (tag := syslog_tag(line, body)):
        if tag in ("CEF", "LEEF") and (product := _CEF_PRODUCT.match(line, body)):
            return product[1]
        return tag
    if spring := _SPRING.match(line, body):
        return spring[1] or spring[2]
    compose = _COMPOSE.match(line)
    return compose[1] if compose else None
