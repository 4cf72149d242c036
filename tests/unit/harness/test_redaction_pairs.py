"""Secrets whose name is itself a value or stands apart are masked; what only looks alike is not."""

from __future__ import annotations

import json

import pytest

from diagnosis.contracts.evidence import EvidenceItem, EvidenceResult
from diagnosis.harness.projection import project
from diagnosis.harness.redaction import redact_text, redact_value

# text with the secret between « and »
SECRETS = [
    # what `kubectl get pod -o json|yaml` and other dumps of environments show
    '{"name":"DB_PASSWORD","value":"«hunter2»"}',
    '{\n  "name": "DB_PASSWORD",\n  "value": "«hunter2»"\n}',
    r"{\"key\":\"api_key\",\"val\":\"«k-1»\"}",
    "- name: DB_PASSWORD\n  value: «hunter2»",
    "- name: DB_PASSWORD\n  value: '«hunter 2»'",
    "key=smtp.password value=«hunter2» scope=all",
    # XML
    '<add key="password" value="«hunter2»"/>',
    '<property name="dataSource.password" value="«hunter2»"/>',
    '<property name="password">«hunter2»</property>',
    '<entry key="clientSecret" type="string">«hunter2»</entry>',
    "<name>javax.jdo.option.ConnectionPassword</name>\n  <value>«hunter2»</value>",
    # the line below
    "password: |\n  «hunter 2»\nuser: bob",
    "db:\n  password: >-\n    «hunter2»\n  user: bob",
    "password:\n  «hunter2»\nuser: bob",
    # calls, percent-encoding, sentences
    "SET PASSWORD FOR 'x'@'y' = PASSWORD('«hunter2»')",
    'dataSource.setPassword("«hunter2»");',
    "form password%3D«hunter2»%26user%3Dbob",
    "body %7B%22password%22%3A%22«hunter2»%22%7D",
    "the password is «tr0ub4dor3x» for now",
    "password for root: «tr0ub4dor3x»",
    "login failed with password «tr0ub4dor3x»",
    "SECRET_KEY_BASE=«abc»",
]

ORDINARY = [
    '{"name":"retries","value":"12"}',
    '{"name":"primary_key","value":"order_id"}',
    '{"name":"DB_PASSWORD","value":""}',
    '{"name":"DB_PASSWORD","value":"${DB_PASSWORD}"}',
    '{"name":"password","value":null}',
    "- name: DB_PASSWORD\n  valueFrom: secretKeyRef",
    "- name: DB_PASSWORD\n  value: $(FROM_VAULT)",
    "invalid token value: abcdef",
    "the password, value and salt: all empty",
    "<td class='password'>required</td>",
    '<input type="password">\n<p>text</p>',
    "secrets:\n  - name: db-credentials",
    "credentials:\n  user: bob",
    "Enter password:\n  login failed for bob",
    "password:\nuser: bob",
    "password is required",
    "password for root is wrong",
    "Failed password for invalid user admin from 10.0.0.1 port 40022 ssh2",
    "docker run -p 8080:80 -p 127.0.0.1:53:53/udp nginx",
    "100%3D done",
]


@pytest.mark.parametrize("marked", SECRETS)
def test_it_is_masked_and_nothing_else(marked: str) -> None:
    before, _, rest = marked.partition("«")
    secret, _, after = rest.partition("»")
    shown = redact_text(f"{before}{secret}{after}")
    kept, _, mask = shown.partition("[REDACTED:")
    assert kept == before
    assert mask.partition("]")[2] == after
    assert redact_text(shown) == shown


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redact_text(text) == text


ROWS = [
    {"Variable_name": "report_password", "Value": "hunter2"},
    {"name": "smtp.password", "setting": "hunter2"},
    {"option_name": "mailer_api_key", "option_value": "hunter2"},
    {"id": 3, "configKey": "db.password", "configValue": "hunter2"},
    {"key": "auth_token", "old_value": "hunter1", "new_value": "hunter2"},
    {"k": "密码", "v": "hunter2"},
]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("padding", ["", "x" * 4_000])
def test_a_row_that_names_a_secret_in_one_field_hides_it_in_the_other(row, padding) -> None:
    # with the padding the row is cut to fit, which is another way through the projection
    fields = {**row, "note": padding}
    shown = project(
        EvidenceResult(items=(EvidenceItem(identity="1", fields=fields),), scope={"q": 1}),
        tool_call_id="call",
        limit=1_024,
    ).text
    assert "hunter" not in shown
    assert "[REDACTED:" in shown
    nested = json.dumps(redact_value({"rows": [row]}, key="result"), ensure_ascii=False)
    assert "hunter" not in nested


@pytest.mark.parametrize(
    "row",
    [
        {"Variable_name": "validate_password_length", "Value": "8"},
        {"Variable_name": "password_policy", "Value": "MEDIUM"},
        {"name": "old_passwords", "value": "0"},
        {"name": "ssh_private_key", "value": "/etc/ssh/id_ed25519"},
        {"name": "db_password", "value": "${FROM_VAULT}"},
        {"name": "primary_key", "value": "order_id"},
        {"name": "password", "value": "", "comment": "not set"},
        {"message": "password", "value": "kept"},
        {"name": "Reset your password", "value": "/reset"},
    ],
)
def test_a_row_of_ordinary_settings_stays(row) -> None:
    assert redact_value(row) == row
