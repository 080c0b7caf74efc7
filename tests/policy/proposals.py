"""What tests of proposals share: a table with a column for each role, and a proposal as a page."""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from ppduck.policy.proposal import page
from tests.conftest import Rows

Ask = Callable[[str], Rows]
TOKEN, DROP, KEEP = "{pseudonym: token}", "drop", "keep"
SHUFFLE, EGADP = "{mask: shuffle}", "{mask: egadp}"
RARE = "{recode: {rare_below: 50, as: other}}"
# (column, its values for row i of 2,000, what is proposed)
ROLES = [
    ("kunden_nr", "1000 + i * 7", TOKEN),
    ("order_ref_id", "'A-' || i // 3", TOKEN),
    ("session", "uuid()", TOKEN),
    ("session_text", "uuid()::VARCHAR", TOKEN),
    ("code_unique", "'q' || md5(i::VARCHAR)", TOKEN),
    ("Vorname", "['Ada', 'Ben'][1 + i % 2]", DROP),
    ("lastName", "['Abel', 'Cole'][1 + i % 2]", DROP),
    ("chief", "'Ad' || 'aeiou'[1 + i % 5] || ' Di' || translate(i::VARCHAR, '0123456789', 'abcdefghij')", DROP),
    ("reach", "'u' || i || '@example.org'", "{pseudonym: email}"),
    ("telefon", "'+49 30 ' || (1000000 + i)", "{pseudonym: digits}"),
    ("dial", "'(030) ' || (100 + i % 900) || '-' || (1000 + i)", "{pseudonym: digits}"),
    ("mobile", "CASE WHEN i % 9 = 0 THEN '110' ELSE '+49 170 ' || (1000000 + i) END", DROP),
    ("story", "'the person in row ' || i || ' said that all was well'", DROP),
    ("said", "CASE WHEN i % 20 = 0 THEN 'ask u' || i || '@example.org' ELSE 'ok' END", DROP),
    ("visited", "'https://example.org/u/' || i", DROP),
    ("came_from", "'10.0.' || i % 250 || '.' || i // 250", DROP),
    ("strasse", "'Weg ' || i % 30", DROP),
    ("latitude", "50 + sin(i)", DROP),
    ("ssn", "100000000 + i", DROP),
    ("passwort", "'hush'", DROP),
    ("when_text", "(DATE '2020-01-01' + (i % 700)::INTEGER)::VARCHAR", DROP),
    ("amount_text", "(sin(i) * 1000)::DECIMAL(9,2)::VARCHAR", DROP),
    ("geburtsdatum", "DATE '1950-01-01' + (i * 9 % 20000)::INTEGER", "{date: year}"),
    ("first_day", "DATE '1930-01-01' + (i * 9 % 25000)::INTEGER", "{date: year}"),
    ("seen", "TIMESTAMP '2020-01-01' + to_days((i * 7 % 1500)::INTEGER)",
     "{date: shift, per: kunden_nr, within: 30 days}"),
    ("opened", "DATE '2020-01-01' + (CASE WHEN i % 8 = 0 THEN 0 ELSE i * 7 % 1500 END)::INTEGER", "{date: month}"),
    ("load_date", "DATE '2026-01-01' + (i % 3)::INTEGER", KEEP),
    ("plz", "lpad((1000 + i * 37 % 90000)::VARCHAR, 5, '0')", "{recode: {keep: 3}}"),
    ("zip_number", "1000 + i * 37 % 90000", "{recode: {width: 1000}}"),
    ("wohnort", "CASE WHEN i % 10 = 0 THEN 'hamlet ' || i % 400 ELSE 'town ' || i % 9 END", RARE),
    ("geschlecht", "['w', 'm'][1 + i % 2]", "{randomize: 0.9}"),
    ("diagnosis", "'d' || i % 6", "{randomize: 0.8}"),
    ("is_smoker", "i % 4 = 0", "{randomize: 0.8}"),
    ("newsletter", "i % 4 = 0", KEEP),
    ("few_true", "i % 100 = 0", "{randomize: 0.9}"),
    ("channel", "'c' || i % 5", KEEP),
    ("Alter", "18 + i % 60", "{recode: {width: 5, top: 85}}"),
    ("birth_year", "1930 + i % 70", "{recode: {width: 5}}"),
    ("einkommen", "3000 + 500 * sin(i * 1.7) + 300 * cos(i * 3)", EGADP),
    ("weight", "(70 + 9 * sin(i * 5.3) + 9 * cos(i * 2.9))::INTEGER", EGADP),
    ("anzahl_besuche", "i * i % 31", SHUFFLE),
    ("gift", "CASE WHEN i % 3 = 0 THEN 0 ELSE 40 + i % 90 END", SHUFFLE),
    ("wealth", "exp(2.5 * sin(i * 1.1) + 2 * cos(i * 0.7)) + 1e3", SHUFFLE),
    ("country_of_shop", "'DE'", KEEP),
    ("picture", "'x'::BLOB", DROP),
    ("tags", "[i]", DROP),
    ("more", "{'a': i}", DROP),
    ("doc", "'{\"a\": ' || i || '}'", DROP),
    ("hour", "TIME '10:00:00'", DROP),
    ("nothing", "NULL::VARCHAR", DROP),
    ("iban", "'n' || i", DROP),
    ("account", "'DE' || lpad((98 - (i::HUGEINT * 1000000 + 131400) % 97)::VARCHAR, 2, '0') || lpad(i::VARCHAR, 18, '0')",
     DROP),
]  # fmt: skip

PEOPLE = f"""CREATE TABLE people AS
SELECT {", ".join(f"{values} AS {name}" for name, values, _ in ROLES)} FROM range(2000) AS rows(i)"""


def proposal(con: duckdb.DuckDBPyConnection, table: str, more: str = "") -> str:
    """The page for a table, which is a literal in SQL."""
    rows = con.execute(f"FROM suggest_policy({table}{more})").fetchall()
    return page(rows)


def treatments(ask: Ask, table: str, more: str = "") -> dict[str, str]:
    return {row["column_name"]: row["treatment"] for row in ask(f"FROM suggest_policy('{table}'{more})")}
