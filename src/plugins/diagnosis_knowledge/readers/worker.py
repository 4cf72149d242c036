"""The process that reads documents: what hangs, eats memory or crashes here takes nothing with it.

It reads one request after the other from its input, a line of JSON and the document's bytes, and
answers each with a line of JSON. Its parent may kill it at any time. A document that takes too long
ends it by the clock's signal, whether or not there still is a parent; so it never outlives one.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import resource
import signal
import sys
import warnings
from contextlib import suppress
from typing import Any, BinaryIO

from diagnosis_knowledge.readers.decoding import decoded
from diagnosis_knowledge.readers.kinds import Kind
from diagnosis_knowledge.readers.sections import DocumentUnreadable, Extract

READING_S = 60
READING_BYTES = 1024 * 1024 * 1024
OUT_OF_MEMORY_STATUS = 75


def read(kind: Kind, content: bytes) -> Extract:
    """Read one document of a kind that this process is for.

    Raises:
        DocumentUnreadable: it cannot be read.
    """
    if kind is Kind.PDF:
        from diagnosis_knowledge.readers.pdf_reader import read_pdf

        return read_pdf(content)
    if kind is Kind.HTML:
        from diagnosis_knowledge.readers.html_reader import read_html

        return read_html(content)
    from diagnosis_knowledge.readers.rst_reader import read_rst

    return read_rst(decoded(content))


def answer(kind: Kind, content: bytes) -> dict[str, Any]:
    """What came of a document, as `process` takes it."""
    try:
        return {"extract": dataclasses.asdict(read(kind, content))}
    except DocumentUnreadable as error:
        return {"reason": error.reason, "mend": error.mend}
    except MemoryError:
        raise
    except RecursionError:
        return {"reason": "is nested too deeply", "mend": "Convert it to text."}
    except ModuleNotFoundError as error:
        mend = 'Install the extra: pip install "diagnosis-harness[knowledge]".'
        return {"reason": f"cannot be read without the library {error.name}", "mend": mend}
    except Exception:  # noqa: BLE001 - the libraries raise anything on a damaged document
        return {"reason": f"is damaged {kind}", "mend": "Export it again, or convert it to text."}


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    while line := requests.readline():
        request = json.loads(line)
        content = requests.read(request["size"])
        signal.setitimer(signal.ITIMER_REAL, READING_S)
        answered = json.dumps(answer(Kind(request["kind"]), content)).encode()
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.write(answered + b"\n")
        answers.flush()


def main() -> None:
    """Serve on standard input and output, within the limits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which then kills this
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    with suppress(ValueError, OSError):  # a system without this limit, or with a lower one
        resource.setrlimit(resource.RLIMIT_AS, (READING_BYTES, READING_BYTES))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable()
    warnings.simplefilter("ignore")
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except MemoryError:
        os._exit(OUT_OF_MEMORY_STATUS)


if __name__ == "__main__":
    main()
