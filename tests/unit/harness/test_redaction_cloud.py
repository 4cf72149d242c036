"""Secrets that only what stands before them gives away, and the remarks that look like them."""

from __future__ import annotations

import json

import pytest

from diagnosis.harness.redaction import redact_text
from diagnosis.harness.redaction_patterns import hinted

AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
ID = "AKIAIOSFODNN7EXAMPLE"
SHA = "89e6c98d92887913cadf06b2adb97f26cde4849b"

# text with the secrets between « and », the kind they are masked as
SECRETS = [
    (f"aws_secret_access_key «{AWS_SECRET}»", "cloud_key"),
    (f"secret_access_key\t«{AWS_SECRET}» end", "cloud_key"),
    (f"got secretAccessKey   «{AWS_SECRET}», region x", "cloud_key"),
    (f"AWS_SECRET_ACCESS_KEY '«{AWS_SECRET}»'", "cloud_key"),
    ("secret_access_key «minio0secret1abcd2»", "cloud_key"),
    (f"key «{ID}» secret «{AWS_SECRET}»", "cloud_key"),
    (f"«ASIAIOSFODNN7EXAMPLE»:«{AWS_SECRET}» and «{SHA}»", "cloud_key"),
    (f"«{ID}» x=«{AWS_SECRET}»\ncommit {SHA}", "cloud_key"),
    (rf"«{ID}»\n«{AWS_SECRET}»\n", "cloud_key"),
    ("密码：«绝密口令123»", "password"),
    ("口令=«绝密abc»，登录", "password"),
    ("用户密码: «天王盖地虎» ok", "password"),
    ("密码＝'«绝密»'", "password"),
    ("密钥：«绝密abc»", "api_token"),
    ("令牌 = 无, 令牌=«绝密abc»", "api_token"),
    ("密码：用户名：bob 密码：«绝密1»", "password"),
]

ORDINARY = [
    "aws_secret_access_key is missing; secret_access_key required",
    "secretAccessKey configuration-provider not found, accesskey x",
    "secret_access_key /etc/secrets/aws/secret-access-key-number-1.txt",
    f"commit {SHA} by AKIA-like {SHA}",
    f"{SHA} before",
    "密码：错误",
    "密码：已过期",
    "密码：不正确",
    "密码: 必填",
    "密码：错误3次，密码：长度至少8位",
    "密码：输入错误！ 口令：校验失败 令牌：刷新成功",
    "密码=用户=bob 密码：请输入新密码",
]


@pytest.mark.parametrize(("marked", "kind"), SECRETS)
def test_a_secret_is_masked_and_nothing_else(marked: str, kind: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    expected = "".join(
        f"[REDACTED:{kind}]{part.partition('»')[2]}" if "»" in part else part
        for part in marked.split("«")
    )
    assert redact_text(text) == expected
    assert redact_text(expected) == expected
    assert hinted(json.dumps({"text": text}, ensure_ascii=False))


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redact_text(text) == text
