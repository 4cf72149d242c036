"""Encodings are told from the bytes; what is none of those that can be told is refused."""

from __future__ import annotations

import pytest

from diagnosis_knowledge.readers.decoding import decoded
from diagnosis_knowledge.readers.sections import DocumentUnreadable

CHINESE = "磁盘使用率过高会导致应用无法写入新的数据。\r\n请先检查日志文件的大小，再清理旧的日志。"
TRADITIONAL = "伺服器的磁碟空間不足時，應用程式無法寫入資料，請檢查記錄檔並且重新啟動這個服務。"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030", "gbk", "gb2312"]
)
def test_chinese(encoding: str) -> None:
    assert decoded(CHINESE.encode(encoding)) == CHINESE.replace("\r\n", "\n")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_with_its_mark_in_either_order(encoding: str) -> None:
    assert decoded(("\ufeff" + CHINESE).encode(encoding)) == CHINESE.replace("\r\n", "\n")


@pytest.mark.parametrize(
    "text",
    [
        "重启",
        "# Disk full 磁盘满\n\nRun df -h，然后清理。\n" + "english text " * 500,
        TRADITIONAL,
        "，。；：",
    ],
)
def test_gb18030_where_it_reads_as_chinese(text: str) -> None:
    assert decoded(text.encode("gb18030")) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Der Server läuft nicht; prüfe die Größe des Überlaufs für Jörg", "cp1252"),
        ("déjà vu, le café est fermé, réessayez après la mise à jour", "cp1252"),
        ("Сервер не отвечает, проверьте журнал и перезапустите службу", "cp1251"),
        ("Сервер не отвечает, проверьте журнал и перезапустите службу", "koi8-r"),
        ("서버의 디스크 공간이 부족하면 로그 파일을 확인하고 서비스를 다시 시작하십시오", "euc-kr"),
        ("サーバーのディスク容量が不足しているときはログを確認して再起動してください", "shift-jis"),
        ("Ελληνικό κείμενο για τον διακομιστή και τον δίσκο του", "iso8859-7"),
        ("caf\xe9", "latin-1"),
    ],
)
def test_other_encodings_are_refused_and_not_misread(text: str, encoding: str) -> None:
    with pytest.raises(DocumentUnreadable, match="neither UTF-8 nor GB18030") as caught:
        decoded(text.encode(encoding))
    assert "UTF-8" in str(caught.value.mend)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\0b", "binary"),
        ("a\0b".encode("utf-16"), "binary"),
        (b"\xff\xfea", "UTF-16"),
        (b"\xff\xfe\x00\xd8", "UTF-16"),
        (b"\xef\xbb\xbf\xff", "UTF-8"),
    ],
)
def test_what_is_no_text_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(DocumentUnreadable, match=reason):
        decoded(content)
