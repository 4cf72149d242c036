"""Secrets that their shape gives away: headers, addresses, commands, tokens with a known prefix."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from diagnosis.harness.redaction_cloud import secrets_behind_ids
from diagnosis.harness.redaction_names import (
    OPENING,
    STATUS,
    SecretKind,
    Span,
    looks_random,
    value_end,
    value_span,
)

# --- headers ---------------------------------------------------------------------------------

_AUTHORIZATION = re.compile(r"""authorization\\{0,8}["'`]?[ \t]{0,4}[:=][ \t]{0,4}""")
_SCHEME = re.compile(
    r"\s{0,4}(?P<scheme>bearer|basic|token|digest|negotiate|ntlm|apikey|api-key|hmac|oauth|jwt"
    r"|signature|key|aws4-hmac-sha256)[ \t]{1,8}"
)
_MANY_PARTS = frozenset({"digest", "hmac", "oauth", "signature", "aws4-hmac-sha256"})
_SCHEME_KINDS = {
    "basic": SecretKind.PASSWORD,
    "digest": SecretKind.PASSWORD,
    "token": SecretKind.API_TOKEN,
    "apikey": SecretKind.API_TOKEN,
    "api-key": SecretKind.API_TOKEN,
    "key": SecretKind.API_TOKEN,
    "aws4-hmac-sha256": SecretKind.CLOUD_KEY,
}
_LINE = re.compile(r"[^\r\n]*")
_BEARER = re.compile(r"bearer[ \t]{1,8}([a-z0-9._~+/=\-]{8,})")
_BASIC = re.compile(r"basic[ \t]{1,8}([a-z0-9+/]{4,}={0,2})")


def authorization(text: str, low: str) -> Iterator[Span]:
    """Find what follows an Authorization header's scheme, or stands in its place."""
    position = 0
    while found := _AUTHORIZATION.search(low, position):
        position = found.end()
        span = _credentials(text, low, position)
        if span is not None:
            position = span[1]
            yield span


def _credentials(text: str, low: str, position: int) -> Span | None:
    """The credentials of an Authorization header whose value begins at a position."""
    span = value_span(text, position)
    if span is None:
        return None
    start, end, quoted = span
    scheme = _SCHEME.match(low, start)
    if scheme is None:
        if start == end or not (quoted or looks_random(text[start:end])):
            return None
        end = end if quoted else value_end(text, start, end)
        return start, end, SecretKind.BEARER_TOKEN
    kind = _SCHEME_KINDS.get(scheme["scheme"], SecretKind.BEARER_TOKEN)
    start = scheme.end()
    if quoted:
        return (start, end, kind) if start < end else None
    if scheme["scheme"] in _MANY_PARTS:
        line = _LINE.match(text, start)
        return (start, line.end(), kind) if line and line[0] else None
    rest = value_span(text, start)
    if rest is None or STATUS.match(text[rest[0] : rest[1]]):
        return None
    start, end, quoted = rest
    return start, end if quoted else value_end(text, start, end), kind


def bearer(text: str, low: str) -> Iterator[Span]:
    """Find bearer tokens outside a header; an ordinary word behind "bearer" is none."""
    for found in _BEARER.finditer(low):
        if looks_random(found[1]):
            yield found.start(1), found.end(1), SecretKind.BEARER_TOKEN


def basic(text: str, low: str) -> Iterator[Span]:
    """Find user:password pairs in base64 behind "Basic"."""
    for found in _BASIC.finditer(low):
        start, end = found.span(1)
        try:
            decoded = base64.b64decode(text[start:end], validate=True)
        except binascii.Error:
            continue
        if b":" in decoded and decoded.isascii():
            yield start, end, SecretKind.PASSWORD


_COOKIE = re.compile(r"""cookie2?\\{0,8}["'`]?[ \t]{0,4}[:=][ \t]{0,4}""")
_PAIRS = re.compile(
    r"""[^\s;,="'`\\]{1,256}+=(?:"[^"\n]{0,8192}"|[^\s;"'`]*+)
        (?:;[ ]?(?:[^\s;,="'`\\]{1,256}+(?:=(?:"[^"\n]{0,8192}"|[^\s;"'`]*+))?)?)*+""",
    re.VERBOSE,
)
_SESSION = re.compile(
    r"(?:jsessionid|phpsessid|asp\.net_sessionid|connect\.sid)=([a-z0-9._%!~+:/\-]{6,})"
)


def cookies(text: str, low: str) -> Iterator[Span]:
    """Find the pairs of Cookie and Set-Cookie headers."""
    position = 0
    while found := _COOKIE.search(low, position):
        position = start = found.end()
        if OPENING.match(text, start):
            span = value_span(text, start)
            if span is None or "=" not in text[span[0] : span[1]]:
                continue
            start, end = span[:2]
        elif pairs := _PAIRS.match(text, start):
            end = pairs.end()
        else:
            continue
        position = end
        yield start, end, SecretKind.COOKIE


def sessions(text: str, low: str) -> Iterator[Span]:
    """Find session cookies of well-known servers, in addresses above all."""
    for found in _SESSION.finditer(low):
        yield found.start(1), found.end(1), SecretKind.COOKIE


# --- addresses -------------------------------------------------------------------------------

_USER = re.compile(r"""://([^\s/?#@:"'`<>\\\[\]]{0,128})(:|@)""")
_REST = re.compile(r"""(?:[^\s"'`<>:\\]|:(?!//)){0,512}""")
_PORT = re.compile(r"\d{1,5}(?:[/?#]|\Z)")
_PATHLESS = re.compile(
    r"(?:mysql|mariadb|postgres|postgresql|rediss?|mongodb(?:\+srv)?|amqps?|mssql|sqlserver"
    r"|clickhouse|kafka)(?:\+\w{1,20})?\Z"
)
_QUERY = re.compile(
    r"[?&;](?:amp;)?(?:x-amz-signature|x-goog-signature|signature|sign|sig|key|auth)="
    r"([a-z0-9%+/=._~\-]{8,})"
)
_GO_SOURCE = re.compile(r"@(?:tcp|unix)\(")
_BREAK = re.compile(r"""[\s"'`]""")
_ORACLE = re.compile(r"oracle:thin:[^/\s@]{1,64}/([^@\s]{1,128})@")


def urls(text: str, low: str) -> Iterator[Span]:
    """Find the passwords (or the token in the user's place) of addresses."""
    position = 0
    while found := _USER.search(text, position):
        start = found.end()
        position = start
        if found[2] == "@":
            if len(found[1]) >= 20 and looks_random(found[1]):
                yield found.start(1), found.end(1), SecretKind.URL_CREDENTIALS
            continue
        rest = _REST.match(text, start)
        run = rest[0] if rest else ""
        if "@" not in run:
            continue
        authority = re.split(r"[/?#]", run, maxsplit=1)[0]
        scheme = low[max(0, found.start() - 24) : found.start()]
        scheme = re.split(r"[^a-z0-9+]", scheme)[-1]
        if _PATHLESS.match(scheme) and not _PORT.match(run):
            end = run.split("?", 1)[0].rfind("@")
        else:
            end = authority.rfind("@")
        if end < 0 and not _PORT.match(run):
            end = run.find("@")
        if end > 0:
            position = start + end
            yield start, start + end, SecretKind.URL_CREDENTIALS


def queries(text: str, low: str) -> Iterator[Span]:
    """Find signatures and keys among the parameters of an address."""
    for found in _QUERY.finditer(low):
        if looks_random(found[1]):
            yield found.start(1), found.end(1), SecretKind.CLOUD_KEY


def sources(text: str, low: str) -> Iterator[Span]:
    """Find passwords in data source names without a scheme (Go, Oracle)."""
    for found in _GO_SOURCE.finditer(low):
        source = _BREAK.split(text[max(0, found.start() - 200) : found.start()])[-1]
        user, _, password = source.partition(":")
        if user and password:
            yield found.start() - len(password), found.start(), SecretKind.URL_CREDENTIALS
    for found in _ORACLE.finditer(low):
        yield found.start(1), found.end(1), SecretKind.URL_CREDENTIALS


# --- commands --------------------------------------------------------------------------------

_SHORT_FLAG = re.compile(r" -([pua])(=?[ \t]{0,4})")
_ATTACHED = re.compile(r"mysql|mariadb")
_SEPARATE = {
    "p": re.compile(r"sshpass|docker|podman|helm|mongo|clickhouse|nexus"),
    "a": re.compile(r"redis-cli"),
    "u": re.compile(r"curl|wget"),
}
_PUBLISHED = re.compile(r"(?:[\d.]{1,40}:)?[\d\-]{1,11}(?::[\d\-]{1,11})?(?:/(?:tcp|udp|sctp))?\Z")
_IDENTIFIED = re.compile(r"identified (?:with \S{1,64} )?(?:by|as) (?:password )?['\"]([^'\"\n]+)")


def commands(text: str, low: str) -> Iterator[Span]:
    """Find passwords given to well-known commands by a short flag."""
    for found in _SHORT_FLAG.finditer(text):
        before = low[max(0, found.start() - 200) : found.start()].rsplit("\n", 1)[-1]
        span = value_span(text, found.end())
        if span is None or span[0] == span[1]:
            continue
        start, end, quoted = span
        if not quoted:
            end = value_end(text, start, end)
        if found[1] == "p" and not found[2] and _ATTACHED.search(before):
            yield start, end, SecretKind.PASSWORD
        elif _SEPARATE[found[1]].search(before) and not text.startswith("-", start):
            if found[1] == "p" and "sshpass" not in before and _PUBLISHED.match(text[start:end]):
                continue  # docker run -p 8080:80
            if found[1] == "u":
                start = text.find(":", start, end) + 1
            if 0 < start < end:
                yield start, end, SecretKind.PASSWORD


def identified(text: str, low: str) -> Iterator[Span]:
    """Find passwords in SQL: IDENTIFIED BY 'x'."""
    for found in _IDENTIFIED.finditer(low):
        yield found.start(1), found.end(1), SecretKind.PASSWORD


# --- tokens ----------------------------------------------------------------------------------

_JWT = re.compile(
    r"(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{8,}+\."
    r"(?:eyJ[A-Za-z0-9_\-]*+(?:\.[A-Za-z0-9_\-]*+)?"
    r"|[A-Za-z0-9_\-]*+\.[A-Za-z0-9_\-]++(?:\.[A-Za-z0-9_\-]++){0,2})"
)
# Prefixes that end with a separator, each of a fixed width so that it can be looked back at.
_PREFIXES = (
    r"sk-",  # OpenAI, Anthropic, OpenRouter and those like them
    r"[srp]k_live_|[srp]k_test_|whsec_",  # Stripe
    r"gh[pousr]_|github_pat_",
    r"glpat-|gldt-|glrt-|glcbt-|glptt-|glsoat-|glft-|glagent-",  # GitLab
    r"xox[abeoprs]-|xapp-",  # Slack
    r"npm_|pypi-|dckr_pat_",
    r"hf_|r8_|gsk_|xai-|pplx-|nvapi-",  # model providers
    r"do[opr]_v1_",  # DigitalOcean
    r"hv[sbr]\.",  # Vault
    r"glsa_|glc_",  # Grafana
    r"shpat_|shpca_|shppa_|shpss_",  # Shopify
    r"lin_api_|sq0atp-|sq0csp-|xkeysib-|PMAK-|NRAK-|tskey-|AGE-SECRET-KEY-",
    r"SG\.",  # SendGrid
    r"ya29\.",  # Google OAuth
)
_PREFIXED = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_PREFIXES)})[A-Za-z0-9_.\-]{{16,}}+")
# Each of these begins with one plain letter, for which the search is several times faster than for
# the prefixes themselves or for a set of letters.
PREFIX_HINTS = (
    r"k(?:-(?<=sk-)(?<![A-Za-z0-9]sk-)|_(?:live|test)_|_(?<=gsk_)|ey-(?<=tskey-)|eysib-)",
    r"x(?:ox[abeoprs]-|app-|ai-)",
    r"g(?:h[pousr]_|ithub_pat_|l(?:sa_|c_|[a-z]{2,5}-))",
    r"p(?:m_(?<=npm_)|ypi-|plx-|(?:at|ca|pa|ss)_(?<=shp.._)|i_(?<=lin_api_)|i-(?<=nvapi-)"
    r"|at_(?<=dckr_pat_)|-(?<=sq0[ac][ts]p-))",
    r"h(?:f_|v[sbr]\.|sec_(?<=whsec_))",
    r"8_(?<=r8_)",
    r"1_(?<=do[opr]_v1_)",
    r"K(?:-(?<=AK-)|EY-(?<=SECRET-KEY-))",
    r"SG\.",
    r"9\.(?<=ya29\.)",
)
FIXED_HINTS = (
    r"A(?:[IKS](?:IA|ID|za)|A(?<=:AA))",
    r"TAI(?<=LTAI)",
    r"y-(?<=key-)(?=[0-9a-f]{32})",
    r"SK[0-9a-f]{32}",
)
_FIXED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<cloud>A[KS]IA[A-Z0-9]{16}|LTAI[A-Za-z0-9]{12,30}|AKID[A-Za-z0-9]{28,40})"
    r"|AIza[A-Za-z0-9_\-]{35}"  # Google
    r"|SK[0-9a-f]{32}"  # Twilio
    r"|key-[0-9a-f]{32}"  # Mailgun
    r"|[0-9]{8,10}:AA[A-Za-z0-9_\-]{32,36}"  # Telegram
    r")(?![A-Za-z0-9])"
)
_HOOK = re.compile(
    r"(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/"
    r"([a-z0-9/_\-]{16,})"
)


def jwts(text: str, low: str) -> Iterator[Span]:
    """Find JSON web tokens: three base64url parts, or a header and payload cut short."""
    for found in _JWT.finditer(text):
        yield found.start(), found.end(), SecretKind.JWT


def prefixed_tokens(text: str, low: str) -> Iterator[Span]:
    """Find API tokens whose issuer marks them with a prefix."""
    for found in _PREFIXED.finditer(text):
        if looks_random(found[0]) or sum(map(str.isdigit, found[0])) >= 6:
            yield found.start(), found.end(), SecretKind.API_TOKEN


def fixed_tokens(text: str, low: str) -> Iterator[Span]:
    """Find keys of a fixed length behind a short prefix: cloud access keys above all."""
    spans = list(secrets_behind_ids(text))  # now: the ids they are known by are masked below
    for found in _FIXED.finditer(text):
        kind = SecretKind.API_TOKEN if found["cloud"] is None else SecretKind.CLOUD_KEY
        spans.append((found.start(), found.end(), kind))
    yield from sorted(spans)


def hooks(text: str, low: str) -> Iterator[Span]:
    """Find webhook addresses, whose path is the secret."""
    for found in _HOOK.finditer(low):
        yield found.start(1), found.end(1), SecretKind.API_TOKEN
