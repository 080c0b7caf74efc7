"""Names of columns: what they hint at in English and German, however they are spelt; and what looks alike and is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.policy._name_hints import Hint, hints, words_of


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ("id customer_id customerID CustomerId kunden_nr Kundennummer KUNDENNR uuid rec_key order_no _id", Hint.ID),
        ("name first_name lastName Vorname Nachname full_name SURNAME customer_name username", Hint.NAME),
        ("email e_mail E-Mail mail email_address emailAdresse mailadresse", Hint.EMAIL),
        ("phone tel Telefon phone_number mobile handynummer telefonnummer fax", Hint.PHONE),
        ("address street Straße Hauptstrasse Anschrift hausnummer", Hint.ADDRESS),
        ("zip PLZ postal_code zipcode Postleitzahl", Hint.ZIP),
        ("city town Ort Wohnort state Bundesland country", Hint.PLACE),
        ("birth_date dob Geburtsdatum geb birthday born", Hint.BIRTH),
        ("age Alter", Hint.AGE),
        ("gender sex Geschlecht", Hint.GENDER),
        ("diagnosis Diagnose religion race disease smoker marital_status familienstand", Hint.SENSITIVE),
        ("income Gehalt umsatz salary balance debt", Hint.MONEY),
        ("n_orders num_visits anzahl order_count kinderzahl", Hint.COUNT),
        ("comment Bemerkung notes description freitext", Hint.FREE),
        ("load_date batch etl_ts stichtag snapshot", Hint.LOADED),
        ("ssn passport steuer_id Steuernummer tax_id ausweisnummer", Hint.OFFICIAL),
        ("iban konto bank_account", Hint.BANK),
        ("ip ip_address", Hint.IP),
        ("lat longitude breitengrad", Hint.LOCATION),
        ("password passwort api_key", Hint.SECRET),
    ],
)
def test_what_a_name_hints_at(names: str, hint: Hint) -> None:
    assert [name for name in names.split() if hint not in hints(name)] == []


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ("paid valid grid covid android solid", Hint.ID),
        ("product_name file_name country_name brand_name", Hint.NAME),
        ("emailed blackmail", Hint.EMAIL),
        ("page stage language average", Hint.AGE),
        ("sextant essex", Hint.GENDER),
        ("capacity scarcity", Hint.PLACE),
        ("latest lonely", Hint.LOCATION),
        ("hotel intelligence", Hint.PHONE),
        ("zipper", Hint.ZIP),
    ],
)
def test_what_only_looks_alike(names: str, hint: Hint) -> None:
    assert [name for name in names.split() if hint in hints(name)] == []


@given(st.text(min_size=1))
def test_any_name_is_read(name: str) -> None:
    assert words_of(name) == words_of(words_of(name)).replace("__", "_") or not words_of(name).strip("_")
    assert hints(name) <= set(Hint)
