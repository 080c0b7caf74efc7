"""Check digits: examples of the standards are right, and a single wrong digit never is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ppduck.kernels.check_digits import is_card, is_iban

# From ISO/IEC 7812-1 and the test numbers that payment firms publish.
CARDS = ["4111111111111111", "5555555555554444", "378282246310005", "30569309025904", "6011111111111117"]
# From the IBAN registry of SWIFT: Germany, United Kingdom, Norway (the shortest), Malta, Saint Lucia.
IBANS = [
    "DE89370400440532013000",
    "GB29NWBK60161331926819",
    "NO9386011117947",
    "MT84MALT011000012345MTLCAST001S",
    "LC55HEMM000100010012001200023015",
]


def test_examples_of_the_standards() -> None:
    assert is_card(CARDS).all()
    assert is_iban(IBANS).all()


@given(st.sampled_from(CARDS), st.data())
def test_no_other_digit_fits_a_card(card: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(card) - 1))
    others = [card[:place] + digit + card[place + 1 :] for digit in "0123456789"]
    assert [other for other, fits in zip(others, is_card(others), strict=True) if fits] == [card]


@given(st.sampled_from(IBANS), st.data())
def test_no_other_digit_fits_an_account(iban: str, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from([i for i, own in enumerate(iban) if own.isdigit()]))
    others = [iban[:place] + digit + iban[place + 1 :] for digit in "0123456789"]
    assert [other for other, fits in zip(others, is_iban(others), strict=True) if fits] == [iban]


@given(st.lists(st.text("0123456789ABCXYZ", min_size=11, max_size=30), min_size=1, max_size=20))
def test_accounts_go_by_the_remainder_of_the_whole_number(ends: list[str]) -> None:
    texts = [f"DE12{end}" for end in ends]
    numbers = [int("".join(str(int(each, 36)) for each in text[4:] + text[:4])) for text in texts]
    assert is_iban(texts).tolist() == [number % 97 == 1 for number in numbers]
