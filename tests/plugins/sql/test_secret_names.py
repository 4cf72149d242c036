"""Which names of columns say that they hold secrets."""

from __future__ import annotations

import pytest

from diagnosis_sql.secret_names import names_a_secret
from diagnosis_sql.text import words

SECRET = words(
    """
    password Password user_password userPassword passwd pwd pwd_hash
    password_hash hashed_password password_salt encrypted_password old_password
    password2 PASSWORD_1 passphrase secret client_secret clientSecret
    totp_secret secret_key secret_value api_key apiKey APIKey apikey api_keys
    x_api_key api_key_hash access_key aws_secret_access_key private_key
    ssh_private_key privateKey token access_token accessToken refresh_token
    token_hash session_token csrf_token auth_token credential credentials
    db_credentials user_pass pass salt authorization jwt otp cvv 密码 用户密码 密钥 登录口令
    令牌 密码哈希
    """
)

ORDINARY = words(
    """
    id name status tokens tokens_used prompt_tokens max_tokens token_count token_type
    token_id token_expires_at password_changed_at password_resets password_reset_required
    last_password_change failed_password_attempts secret_id secret_name secrets_rotated_at
    has_password is_secretary secretary passenger passed bypass compass key keys
    primary_key foreign_key sort_key key_name author authority credential_type
    credentials_expire_at api_key_id private broken tokenizer spinning pinned pin_count
    hash order_hash salted 密码错误次数 密钥编号
    """
)


@pytest.mark.parametrize("name", sorted(SECRET))
def test_it_names_a_secret(name: str) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize("name", sorted(ORDINARY))
def test_it_tells_something_else(name: str) -> None:
    assert not names_a_secret(name)
