"""Where the secret comes from, and what is kept of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.errors import PpduckError
from ppduck.secret import SECRET_VARIABLE, fingerprint, given_secret, secret_in

pytestmark = pytest.mark.core
SECRET = "sixteen bytes or more"


def test_the_caller_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert given_secret(None) is None
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    assert given_secret(None) == SECRET.encode()
    assert given_secret("another secret of bytes") == b"another secret of bytes"
    monkeypatch.setenv(SECRET_VARIABLE, "")  # as good as none
    assert given_secret(None) is None


def test_a_short_one_is_refused_by_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PpduckError, match=r"^ppduck\.load: secret is too short .* give 16 bytes or more"):
        given_secret("short")
    monkeypatch.setenv(SECRET_VARIABLE, "short")
    with pytest.raises(PpduckError, match=rf"^ppduck\.load: {SECRET_VARIABLE} is too short") as refused:
        given_secret(None)
    assert '"short"' not in str(refused.value)
    with pytest.raises(PpduckError, match="secret takes text or bytes, got int"):
        given_secret(12345678901234567)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_line_end_of_a_file_is_none_of_it(end: bytes) -> None:
    assert secret_in(SECRET.encode() + end) == SECRET.encode()


@given(st.binary(min_size=16, max_size=40), st.binary(min_size=16, max_size=40))
def test_a_fingerprint_knows_a_secret_again_and_does_not_hold_it(one: bytes, two: bytes) -> None:
    found = fingerprint(one)
    assert found is not None
    assert (found == fingerprint(two)) == (one == two)
    assert one not in found
    assert fingerprint(None) is None
