"""Whether a column's name says that it holds secrets.

`password`, `user_passwd`, `apiKey`, `access_token_hash`, `密码` do; `password_changed_at`,
`token_count`, `tokens_used`, `secret_id` do not: they tell something about a secret.
"""

from __future__ import annotations

import re
from functools import lru_cache

from diagnosis_sql.text import words

_SECRETS = words(
    """
    password passwords passwd pwd passphrase passcode secret secrets credential credentials
    token apikey privatekey secretkey accesskey authkey accesstoken authtoken refreshtoken
    sessiontoken apitoken userpassword passwordhash pwdhash otp cvv cvc jwt bearer
    """
)
_PAIRS = words(
    """
    api.key private.key secret.key access.key auth.key signing.key encryption.key master.key
    shared.key license.key ssh.key host.key session.key service.key api.keys private.keys
    secret.keys access.keys user.pass db.pass database.pass admin.pass login.pass smtp.pass
    mysql.pass root.pass session.cookie authentication.string session.id.token
    """
)
_WHOLE = frozenset({"pass", "salt", "authorization", "rolpassword", "userpass"})
# what may follow and still name the secret itself
_FORMS = words(
    """
    hash hashed salt digest encrypted enc cipher ciphertext plain plaintext text raw value val
    md5 sha1 sha256 sha512 bcrypt argon2 scrypt base64 b64 hex old new current previous prev
    temp tmp
    """
)
# what begins the name of a yes or no
_QUESTIONS = frozenset({"has", "is", "needs", "requires", "use", "uses", "no", "without"})
_CHINESE = re.compile(r"(密码|口令|密钥|私钥|令牌|凭证)(哈希|值|密文|明文)?\Z")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NUMBERED = re.compile(r"(?<=[a-z])[0-9]{1,2}\Z")


@lru_cache(maxsize=4096)
def names_a_secret(column: str) -> bool:
    """Whether a column of this name holds a secret, and not something about one."""
    if _CHINESE.search(column):
        return True
    lowered = column.lower()
    if lowered in _WHOLE:
        return True
    words = [word.lower() for word in _WORD.findall(column)]
    while len(words) > 1 and (words[-1] in _FORMS or words[-1].isdigit()):
        words.pop()
    if not words or words[0] in _QUESTIONS:
        return False
    last = _NUMBERED.sub("", words[-1])
    return last in _SECRETS or ".".join([*words[-2:-1], last]) in _PAIRS
