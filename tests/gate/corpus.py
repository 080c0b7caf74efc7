"""Releases that the gate must refuse, and releases that it must pass.

Nearly every unsafe release is a safe one with one thing wrong: the masked table it is made from is itself among the safe
ones, and its rows are in the order of the key, so that it is not refused for another reason than its leak. ``rule`` and
``column`` name what must refuse it. ``tells`` is the proof of the leak: what somebody computes who knows how it was made.

Left out of the safe ones are masks that stay near the originals by intention, for the gate rightly refuses them unless
its limits are widened: noise_mask, kim_mask, onn_mask, microaggregate_mask, sufficiency_mask with an alpha above 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import duckdb

DATA = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True)
class Case:
    """A release of ``original`` that is asked about with ``conf`` and ``more``."""

    name: str  # what leaks; of a safe one, the mask and the data
    original: str  # a table of TABLES
    release: str  # a SELECT over TABLES and MASKED
    conf: tuple[str, ...]
    more: str = ""  # further arguments of release_check
    key: str = "id"
    # of an unsafe one, the rule that must refuse it for its leak, whatever else does, and the column that it is of
    rule: str = ""
    column: str | None = None
    # an aggregate over the original o and its release r: true if the secret can be read
    tells: str = ""
    kind: str = "table"  # how the release is given: a table, a view, or a SELECT

    @property
    def given(self) -> str:
        """What is given to the gate as ``release``."""
        if self.kind == "select":
            return f"({self.release})"
        return "release_" + re.sub(r"\W+", "_", self.name).strip("_").lower()

    @property
    def question(self) -> str:
        conf = ", ".join(f"'{name}'" for name in self.conf)
        more = f", {self.more}" if self.more else ""
        release = self.given.replace("'", "''")
        return f"FROM release_check('{self.original}', '{release}', conf=[{conf}], key='{self.key}'{more})"


def prepare(con: duckdb.DuckDBPyConnection) -> None:
    """Creates the originals, and the masked tables that releases are made from."""
    for statement in (*TABLES.values(), *MASKED.values()):
        con.execute(statement)


def release_of(con: duckdb.DuckDBPyConnection, case: Case) -> str:
    """The release as it is given to the gate: the name of a table or view that is made here, or a SELECT."""
    if case.kind != "select":
        con.execute(f"CREATE OR REPLACE {case.kind} {case.given} AS {case.release}")
    return case.given


def uniform(salt: str, of: str = "i") -> str:
    """A number above 0 and below 1 that depends on a row's number and nothing else; the same on every DuckDB."""
    return f"((('0x' || substr(md5('{salt}' || {of}), 1, 12))::BIGINT + 0.5) / 281474976710656)"


def normal(salt: str, of: str = "i") -> str:
    """By Box and Muller (1958)."""
    return f"(sqrt(-2 * ln({uniform(salt, of)})) * cos(2 * pi() * {uniform(salt + ' angle', of)}))"


def customers(rows: int, income: str = "round({}, 2)", kind: str = "DOUBLE") -> str:
    """A SELECT of customers; ``income`` is what is done with incomes and debts."""
    return f"""
        WITH people AS (
            SELECT i AS id, 20 + floor(50 * {uniform("age")})::INTEGER AS age,
                   1 + floor(4 * {uniform("region")})::INTEGER AS place, 1 + floor(3 * {uniform("segment")})::INTEGER AS part,
                   {normal("income")} AS z1, {normal("debt")} AS z2,
                   floor(-4 * ln({uniform("visits")}))::INTEGER AS visits, {uniform("disease")} AS u
            FROM range(1, {rows + 1}) AS numbers(i)
        ), earning AS (
            SELECT *, {income.format("exp(10.2 + 0.012 * (age - 45) + 0.12 * place + 0.35 * z1)")}::{kind} AS income FROM people
        )
        SELECT id, age, ['east', 'north', 'south', 'west'][place] AS region, ['basic', 'gold', 'plus'][part] AS segment,
               income, {income.format("0.3 * income * exp(0.3 * z2) + 120 * (70 - age)")}::{kind} AS debt, visits,
               ['flu', 'asthma', 'anemia', 'cancer', 'gout'][1 + floor(5 * pow(u, 1.6 - age / 100.0))::INTEGER] AS disease
        FROM earning
        """


SYLLABLES = (
    "['ba', 'del', 'fo', 'gri', 'hun', 'ka', 'lo', 'mer', 'nys', 'or', 'pel', 'qui', 'ras', 'sto', 'tav', 'wen']"
)


def word(salt: str) -> str:
    return " || ".join(f"{SYLLABLES}[1 + floor(16 * {uniform(salt + part, 'id')})::INTEGER]" for part in "abc")


# What is released of customers, unless said.
BASIC = "id, age, region, segment, income, debt"
TABLES: dict[str, str] = {
    "customers": f"CREATE TABLE customers AS {customers(2000)}",
    "customers_whole": f"CREATE TABLE customers_whole AS {customers(2000, 'round({})', 'BIGINT')}",
    "customers_continuous": f"CREATE TABLE customers_continuous AS {customers(2000, '{}')}",
    "customers_keyed": "CREATE TABLE customers_keyed AS SELECT format('C-{:04d}', id) AS id, * EXCLUDE (id) FROM customers",
    "customers_coded": """
        CREATE TABLE customers_coded AS
        SELECT format('C-{:04d}-{:.2f}', id, income) AS id, * EXCLUDE (id) FROM customers
        """,
    "customers_gaps": f"""
        CREATE TABLE customers_gaps AS SELECT id, age, if({uniform("gap", "id")} < 0.15, NULL, region) AS region,
               segment, income, debt FROM customers
        """,
    "customers_unknown": f"""
        CREATE TABLE customers_unknown AS SELECT id, age, region, segment, income,
               if({uniform("unknown", "id")} < 0.1, NULL, debt) AS debt FROM customers
        """,
    "customers_filled": "CREATE TABLE customers_filled AS SELECT * REPLACE (coalesce(debt, avg(debt) OVER ()) AS debt) FROM customers_unknown",
    # One customer's years do not go on as those of all others do, and nobody else's differ so.
    "customers_odd": """
        CREATE TABLE customers_odd AS
        SELECT id, age, age + 4 - if(id = 1234, 9, 0) AS age_in_four_years, region, segment, income, debt FROM customers
        """,
    "people": f"""
        CREATE TABLE people AS
        SELECT id, upper({word("first")}) || ' ' || {word("last")} AS name,
               {word("first")} || '.' || {word("last")} || '@example.org' AS email,
               format('+41 7{{:08d}}', floor(1e8 * {uniform("phone", "id")})::BIGINT) AS phone,
               DATE '2026-01-01' - (365.25 * age + 365 * {uniform("birth", "id")})::INTEGER AS birth,
               100000000 + floor(9e8 * {uniform("number", "id")})::BIGINT AS insurance_number,
               700000 + id AS account, insurance_number::DOUBLE AS member,
               format('+41 7{{:08d}}', (id // 4) * 49999) AS family_phone, 1000 + floor(400 * {uniform("zip", "id")})::INTEGER AS zip,
               * EXCLUDE (id, visits, disease) FROM customers
        """,
    "people_mailed": """
        CREATE TABLE people_mailed AS SELECT * REPLACE (if(id = 1234, 'somebody@one.example', email) AS email) FROM people
        """,
    "small": f"CREATE TABLE small AS SELECT {BASIC} FROM ({customers(300)})",
    "large": f"CREATE TABLE large AS SELECT {BASIC} FROM ({customers(20_000)})",
    # y rises with x to the middle, and falls again.
    "tent": f"""
        CREATE TABLE tent AS
        SELECT i AS id, {uniform("tent x")} * 2 - 1 AS x, 1 - abs({uniform("tent x")} * 2 - 1) + 0.2 * {normal("tent y")} AS y
        FROM range(1, 2001) AS numbers(i)
        """,
    "skewed": f"""
        CREATE TABLE skewed AS
        SELECT i AS id, exp({normal("skewed s")}) AS s, round(exp(3 + 0.5 * {normal("skewed s")} + {normal("skewed a")}), 2) AS a,
               round(exp(5 + 0.3 * {normal("skewed s")} + 0.4 * {normal("skewed a")} + 0.8 * {normal("skewed b")}), 2) AS b
        FROM range(1, 2001) AS numbers(i)
        """,
    # Nine of ten customers have no savings.
    "savers": f"""
        CREATE TABLE savers AS SELECT id, age, region,
               if({uniform("saves", "id")} < 0.9, 0, round(exp(8 + {normal("savings", "id")}))::BIGINT) AS savings FROM customers
        """,
    "adult": f"""
        CREATE TABLE adult AS
        SELECT id, age, education_num, sex, race, hours_per_week, fnlwgt, capital_gain
        FROM (SELECT row_number() OVER () AS id, * FROM '{DATA}/adult.parquet')
        WHERE {uniform("adult", "id")} < 0.14
        """,
    "census": f"""
        CREATE TABLE census AS
        SELECT row_number() OVER () AS id, POTHVAL, EMCONTRB, PTOTVAL, FEDTAX FROM '{DATA}/census.parquet'
        """,
}

EGADP = "conf=['income', 'debt'], nonconf=['age', 'region', 'segment'], key='id', seed=1"


def masked(table: str, more: str = "") -> str:
    return f"SELECT {BASIC} FROM egadp_mask('{table}', {EGADP}{more})"


MASKED: dict[str, str] = {
    "masked": f"CREATE TABLE masked AS {masked('customers')}",
    "masked_whole": f"CREATE TABLE masked_whole AS {masked('customers_whole', ', round=true')}",
    "masked_continuous": f"CREATE TABLE masked_continuous AS {masked('customers_continuous')}",
    "masked_coded": f"CREATE TABLE masked_coded AS {masked('customers_coded')}",
    "masked_disease": """
        CREATE TABLE masked_disease AS
        SELECT id, age, region, segment, disease FROM rr_mask('customers', p={'disease': 0.4}, key='id', seed=1)
        """,
}

CONF = ("income", "debt")


def beside(name: str, column: str, value: str, tells: str, table: str = "customers", rule: str = "tells") -> Case:
    """A new column beside the masked ones; ``value`` is of the original o and the masked m."""
    release = f"SELECT m.*, {value} AS {column} FROM masked m JOIN {table} o USING (id) ORDER BY id"
    return Case(name, table, release, CONF, rule=rule, column=column, tells=tells)


def instead(
    name: str,
    values: str,
    tells: str,
    table: str = "customers",
    *,
    rule: str = "tells",
    column: str | None = "income",
) -> Case:
    """Other values in place of masked ones: ``expression AS column``, of the original o and the masked m."""
    base = table.replace("customers", "masked")
    release = f"SELECT m.* REPLACE ({values}) FROM {base} m JOIN {table} o USING (id) ORDER BY id"
    return Case(name, table, release, CONF, rule=rule, column=column, tells=tells)


def some(name: str, where: str, least: int, value: str = "o.income", rule: str = "unchanged") -> Case:
    """The original income, or nearly, in some rows and the masked one in the others."""
    return instead(
        name,
        f"if({where}, {value}, m.income) AS income",
        f"count(*) FILTER (abs(r.income - o.income) < 0.06) >= {least}",
        rule=rule,
    )


def in_order(name: str, order: str, tells: str) -> Case:
    """Masked rows, in an order that the originals have."""
    release = f"SELECT m.* FROM masked m JOIN customers o USING (id) ORDER BY {order}"
    return Case(name, "customers", release, CONF, rule="order", tells=tells)


def pseudonyms(name: str, value: str, tells: str = "", of: str = "id", rule: str = "") -> Case:
    """A pseudonym of a column of people, in its place; of the key, which is dropped later, beside it."""
    column = "token" if of == "id" else of
    said = "pseudonyms={'token': 'id'}" if of == "id" else f"pseudonyms=['{of}']"
    release = f"SELECT m.*, {value} AS {column} FROM masked m JOIN people o USING (id) ORDER BY id"
    return Case(name, "people", release, CONF, said, rule=rule, column=column if rule else None, tells=tells)


def kept(name: str, value: str, tells: str = "", column: str = "birth", rule: str = "") -> Case:
    """Another value in place of one that the release keeps."""
    release = f"SELECT m.*, {value} AS {column} FROM masked m JOIN people o USING (id) ORDER BY id"
    return Case(
        name, "people", release, CONF, f"keep=['{column}']", rule=rule, column=column if rule else None, tells=tells
    )


def keyed(of: str) -> str:
    """What nobody makes of a value who has no secret."""
    return f"sha256('a secret that nobody has' || o.{of})"


def diseases(name: str, value: str, tells: str, more: str = "", rule: str = "agreement") -> Case:
    """Something else in place of a randomized category."""
    release = f"SELECT m.* REPLACE ({value} AS disease) FROM masked_disease m JOIN customers o USING (id)"
    return Case(name, "customers", release, ("disease",), more, rule=rule, column="disease", tells=tells)


def near(value: str, column: str = "income", within: float = 1e-9, rows: int = 2000) -> str:
    """That ``value``, computed from the release, is the original up to a share, in so many rows."""
    return f"count(*) FILTER (abs({value} - o.{column}) <= {within} * abs(o.{column})) >= {rows}"


def identifies(column: str) -> str:
    """That most rows are the only ones with their value."""
    return f"count(DISTINCT r.{column}) > 0.9 * count(*)"


CENTS = "(round(100 * o.income)::BIGINT)"
INVERSE = pow(7919, -1, 1_000_003)
RICH = "(SELECT quantile_cont(income, {}) FROM customers)"
SHIFTS = "MAP {'east': 3e5, 'north': -2e5, 'south': 7e4, 'west': 9e5}[o.region]"
EACH, EACH_TWO = (f"(1e6 * {normal('heavy', number)})" for number in ("o.id", "(o.id // 2)"))
# The mean of each row of a view, by key.
FIFTY_READS = "SELECT list(mean ORDER BY id) FROM (SELECT id, avg(income) AS mean FROM ({}) GROUP BY id)".format(
    " UNION ALL ".join(["SELECT id, income FROM release_a_view_with_fresh_noise_at_every_read"] * 50)
)
# Nobody but one person has another domain than the others.
OWN_DOMAIN = f"substr({keyed('email')}, 1, 12) || '@' || split_part(o.email, '@', 2)"
CODE = "list_position(['gout', 'flu', 'cancer', 'asthma', 'anemia'], o.disease)"
CARRIED = "MAP {'flu': 'basic', 'asthma': 'gold', 'anemia': 'plus', 'cancer': 'new', 'gout': 'old'}[o.disease]"
TRANSLATED = "translate({}, '0123456789', '{}')"

UNSAFE: tuple[Case, ...] = (
    # Who it is
    beside("names", "name", "o.name", identifies("name"), "people", rule="identifier"),
    beside("e-mail addresses", "email", "o.email", identifies("email"), "people", rule="pattern"),
    beside("phone numbers", "phone", "o.phone", identifies("phone"), "people", rule="pattern"),
    beside("birth dates to the day", "birth", "o.birth", identifies("birth"), "people", rule="pattern"),
    beside("insurance numbers", "insurance_number", "o.insurance_number", identifies("insurance_number"), "people", rule="identifier"),
    beside("insurance numbers as DOUBLE", "member", "o.member", identifies("member"), "people", rule="identifier"),
    beside("phone numbers of families", "family_phone", "o.family_phone", "count(DISTINCT r.family_phone) > 0.24 * count(*)", "people", rule="pattern"),
    beside("account numbers in a sequence", "account", "o.account", identifies("account"), "people", rule="identifier"),
    Case(
        "groups of one by age and zip", "people",
        "SELECT m.* EXCLUDE (debt), o.zip FROM masked m JOIN people o USING (id)", ("income",), "qi=['age', 'zip']",
        rule="k", tells="count(DISTINCT (r.age, r.zip)) > 0.8 * count(*)",
    ),
    # Incomes in a new column
    beside("income as text in a new column", "note", "o.income::VARCHAR", "bool_and(r.note::DOUBLE = o.income)", rule="copy"),
    beside("md5 of income", "token", "md5(o.income::VARCHAR)", "bool_and(r.token = md5(o.income::VARCHAR))"),
    beside("sha256 of income", "token", "sha256(o.income::VARCHAR)", "bool_and(r.token = sha256(o.income::VARCHAR))"),
    beside("income in another currency", "dollars", "1.1 * o.income", near("r.dollars / 1.1")),
    beside("base64 of income", "token", "base64(encode(o.income::VARCHAR))", "bool_and(decode(from_base64(r.token))::DOUBLE = o.income)"),
    beside("hex digits of income", "token", f"to_hex({CENTS})", "bool_and(('0x' || r.token)::BIGINT / 100 = o.income)"),
    beside("digits of income each shifted by three", "token", TRANSLATED.format("o.income::VARCHAR", "3456789012"), f"bool_and({TRANSLATED.format('r.token', '7890123456')}::DOUBLE = o.income)"),
    beside("dates that encode income", "since", "DATE '2000-01-01' + (o.income / 100)::INTEGER", "max(abs((r.since - DATE '2000-01-01') * 100 - o.income)) <= 50"),
    beside("seconds that encode income", "seen", "make_timestamp((1e6 * round(o.income))::BIGINT)", "max(abs(epoch(r.seen) - o.income)) <= 0.5"),
    beside("identifiers that encode income", "uuid", f"('00000000-0000-4000-8000-' || printf('%012d', {CENTS}))::UUID", "bool_and(right(r.uuid::VARCHAR, 12)::BIGINT / 100 = o.income)"),
    beside("income in a JSON text", "profile", "'{\"plan\": \"a\", \"income\": ' || o.income || '}'", "bool_and(regexp_extract(r.profile, '[0-9.]+')::DOUBLE = o.income)"),
    beside("income in a sentence", "remark", "'earns ' || o.income::BIGINT || ' a year'", "max(abs(regexp_extract(r.remark, '[0-9]+')::BIGINT - o.income)) <= 0.5"),
    beside("income in a list", "history", "[1.0, o.income]", "bool_and(r.history[2] = o.income)"),
    beside("income in a struct", "profile", "{'plan': 'a', 'income': o.income}", "bool_and(r.profile.income = o.income)"),
    beside("income in a blob", "scan", "encode(o.income::VARCHAR)", "bool_and(decode(r.scan)::DOUBLE = o.income)", rule="copy"),
    beside("income as the length of a text", "bar", "repeat('#', (o.income / 500)::INTEGER)", "max(abs(500 * length(r.bar) - o.income)) <= 250"),
    beside("quotient and remainder of income", "part1", "floor(o.income / 1000) AS part0, o.income % 1000", near("1000 * r.part0 + r.part1")),
    beside("sum of both confidential columns", "total", "o.income + o.debt", "max(abs(r.total - o.income - o.debt)) < 1e-6"),
    beside("ratio of both confidential columns", "ratio", "o.income / o.debt", near("r.ratio * o.debt")),
    beside("rank of income", "place", "rank() OVER (ORDER BY o.income)", "corr(r.place, o.income) > 0.85"),
    beside("rank of income as a second key", "rank_id", "'R' || printf('%05d', row_number() OVER (ORDER BY o.income DESC))", "corr(substr(r.rank_id, 2)::INTEGER, o.income) < -0.85"),
    beside("twentieths of income as text", "band", "'band ' || ntile(20) OVER (ORDER BY o.income)", "corr(substr(r.band, 6)::INTEGER, o.income) > 0.85"),
    beside("whether income is above 50,000", "well_off", "o.income > 50000", "bool_and(r.well_off = (o.income > 50000))"),
    beside("a bonus only for high incomes", "bonus", f"if(o.income > {RICH.format(0.7)}, 100, NULL)", "min(o.income) FILTER (r.bonus IS NOT NULL) > max(o.income) FILTER (r.bonus IS NULL)"),
    beside("the noise of the mask", "noise", "o.income - m.income", near("(r.income + r.noise)")),
    beside("a second column with one original in a hundred", "estimate", "if(o.id % 100 = 3, o.income, m.income)", near("r.estimate", rows=20)),
    # Incomes in place of masked ones
    Case("a copy", "customers", f"SELECT {BASIC} FROM customers", CONF, rule="copy", column="income", tells=near("r.income")),
    instead("a copy as decimals", "o.income::DECIMAL(18, 2) AS income, o.debt::DECIMAL(18, 2) AS debt", near("r.income"), rule="copy"),
    instead("a copy as text", "o.income::VARCHAR AS income", near("r.income::DOUBLE"), rule="copy", column=None),
    Case(
        "income under another name", "customers",
        "SELECT m.* EXCLUDE (income), o.income AS salary FROM masked m JOIN customers o USING (id)", CONF,
        rule="copy", column="salary", tells=near("r.salary"),
    ),
    instead("debt not masked", "o.debt AS debt", near("r.debt", "debt"), rule="copy", column="debt"),
    instead("two columns that changed names", "o.debt AS income, o.income AS debt", near("r.debt"), column="debt"),
    instead("log of income", "ln(o.income) AS income", near("exp(r.income)"), rule="r2_gain"),
    instead("income squared", "o.income ** 2 AS income", near("sqrt(r.income)"), rule="r2_gain"),
    instead("sign flipped", "-o.income AS income", near("-r.income"), rule="r2_gain"),
    instead("alternating signs", "if(o.id % 2 = 0, 1, -1) * o.income AS income", near("abs(r.income)")),
    instead("tiny multiple of income", "o.income * 1e-170 AS income", near("r.income * 1e170")),
    instead("shift by a constant of the region", f"o.income + {SHIFTS} AS income", near(f"(r.income - {SHIFTS})"), rule="r2_gain"),
    instead("shift by a thousand times the key", "o.income + 1000 * o.id AS income", near("(r.income - 1000 * o.id)")),
    instead("shift by the key squared", "o.income + o.id * o.id AS income", near("(r.income - o.id * o.id)")),
    instead("a million times another column before income", "1e6 * o.age + o.income AS income", near("(r.income % 1e6)")),
    instead("a million times the key before income", "1e6 * o.id + o.income AS income", near("(r.income % 1e6)", within=1e-6)),
    instead("income times a prime in a ring", "o.income * 7919 % 1000003 AS income", f"bool_and(r.income * {INVERSE} % 1000003 = o.income)", "customers_whole"),
    instead("income XOR a constant", "xor(o.income, 123456) AS income", "bool_and(xor(r.income, 123456) = o.income)", "customers_whole"),
    instead("digits in reverse", "reverse(o.income || '1')::BIGINT AS income", "bool_and(reverse(substr(r.income::VARCHAR, 2))::BIGINT = o.income)", "customers_whole"),
    instead("income in the decimals of the masked one", f"floor(m.income) + {CENTS} / 1e8 AS income", near("((r.income - floor(r.income)) * 1e6)", within=1e-3)),
    instead("income behind the first decimal of the masked one", "round(m.income, 1) + round(o.income) / 1e8 AS income", near("((r.income - round(r.income, 1)) * 1e8)", within=1e-3)),
    instead("uniform noise of one", f"o.income + 2 * {uniform('little', 'o.id')} - 1 AS income", "max(abs(r.income - o.income)) <= 1", rule="copy"),
    instead("uniform noise on unrounded incomes", f"o.income + 2 * {uniform('little', 'o.id')} - 1 AS income", "max(abs(r.income - o.income)) <= 1", "customers_continuous", rule="copy"),
    instead("noise of a thousandth", f"o.income * (1 + 0.001 * {normal('thousandth', 'o.id')}) AS income", near("r.income", within=0.005), rule="interval"),
    instead("income rounded to hundreds", "round(o.income, -2) AS income", "max(abs(r.income - o.income)) <= 50.001", rule="interval"),
    Case(
        "noise of a hundredth of the variance", "customers",
        f"SELECT {BASIC} FROM noise_mask('customers', conf=['income', 'debt'], level=0.01, key='id', seed=1)", CONF,
        rule="r2_gain", column="income", tells="corr(r.income, o.income) > 0.98",
    ),
    Case(
        "ranks swapped within two in a hundred", "customers",
        f"SELECT {BASIC} FROM rank_swap_mask('customers', conf=['income', 'debt'], reach=2, key='id', seed=1)", CONF,
        rule="interval", column="income", tells="corr(r.income, o.income) > 0.98",
    ),
    Case(
        "means of groups of two", "customers",
        f"SELECT {BASIC} FROM microaggregate_mask('customers', conf=['income', 'debt'], k=2, key='id')", CONF,
        rule="linkage", tells="corr(r.income, o.income) > 0.98",
    ),
    # Incomes in what two columns, two rows or two reads have in common
    instead("debt that is a multiple of income", "3 * o.income - 5 AS debt", near("(r.debt + 5) / 3"), column="debt"),
    instead("product of both confidential columns", "o.income * o.debt AS income", near("r.income / o.debt"), rule="r2_gain"),
    instead("one noise for both columns", f"o.income + {EACH} AS income, o.debt + {EACH} AS debt", "max(abs(r.income - r.debt - o.income + o.debt)) < 1e-6", rule="cc_gain", column=None),
    instead("one noise for each two rows", f"o.income + {EACH_TWO} AS income", "count(DISTINCT round(r.income - o.income, 3)) <= 1001"),
    Case(
        "incomes moved to the next key", "customers",
        "SELECT m.* REPLACE (coalesce(lag(o.income) OVER (ORDER BY id), m.income) AS income) FROM masked m JOIN customers o USING (id)", CONF,
        rule="tells", column="income", tells="list_slice(list(r.income ORDER BY id), 2, 2000) = list_slice(list(o.income ORDER BY id), 1, 1999)",
    ),
    Case(
        "incomes of pairs exchanged", "customers",
        "SELECT m.* REPLACE (coalesce(o.income, m.income) AS income) FROM masked m LEFT JOIN customers o ON o.id = xor(m.id, 1) ORDER BY m.id", CONF,
        rule="tells", column="income", tells="(SELECT count(*) FROM customers a JOIN release_incomes_of_pairs_exchanged b ON a.id = xor(b.id, 1) AND a.income = b.income) >= 1998",
    ),
    Case(
        "a view with fresh noise at every read", "customers",
        "SELECT m.* REPLACE (o.income + 7e5 * (random() - 0.5) AS income) FROM masked m JOIN customers o USING (id)", CONF,
        kind="view", rule="averaging", column="income", tells=f"corr(o.income, ({FIFTY_READS})[id]) > 0.4",
    ),
    # Incomes of some rows
    some("one leaked row", "o.id = 1234", 1),
    some("every 25th row", "o.id % 25 = 7", 80),
    some("every 25th row to six digits", "o.id % 25 = 7", 80, "round(o.income, 1)", rule="near"),
    some("half of the rows", "o.id % 2 = 0", 1000),
    some("the rows of a region", "o.region = 'west'", 400),
    some("the 18 richest", "o.income >= (SELECT min(income) FROM (FROM customers ORDER BY income DESC LIMIT 18))", 18, rule="tail"),
    some("the poorest hundredth", f"o.income <= {RICH.format(0.01)}", 20, rule="tail"),
    some("the richest two hundredth to six digits", f"o.income >= {RICH.format(0.995)}", 10, "round(o.income, 1)", rule="tail"),
    instead("high incomes suppressed", f"if(o.income > {RICH.format(0.8)}, NULL, m.income) AS income", "min(o.income) FILTER (r.income IS NULL) > max(o.income) FILTER (r.income IS NOT NULL)"),
    instead("high incomes suppressed and the others as they are", f"if(o.income > {RICH.format(0.8)}, NULL, o.income) AS income", near("r.income", rows=1600), rule="copy"),
    # Incomes in order, keys and columns that are not confidential
    in_order("rows in the order of income", "o.income", "corr(r.rowid, o.income) > 0.8"),
    in_order("rows in the order of income within the region", "o.region, o.income", "corr(r.rowid, o.income) FILTER (o.region = 'north') > 0.8"),
    in_order("rows in the order of how far income is from the median", f"abs(o.income - {RICH.format(0.5)})", f"abs(corr(r.rowid, abs(o.income - {RICH.format(0.5)}))) > 0.8"),
    Case("income in the key", "customers_coded", "FROM masked_coded", CONF, rule="tells", column="id", tells=near("string_split(id, '-')[3]::DOUBLE")),
    instead("a changed column nobody declared", f"o.age + (3 * {normal('older', 'o.id')})::INTEGER AS age", "corr(r.age, o.age) > 0.95", rule="declared", column="age"),
    instead("a year on for everybody", "o.age + 1 AS age", "bool_and(r.age = o.age + 1)", column="age"),
    instead("capitals for the rich", f"if(o.income > {RICH.format(0.5)}, upper(o.region), o.region) AS region", "min(o.income) FILTER (r.region = upper(r.region)) > max(o.income) FILTER (r.region <> upper(r.region))", column="region"),
    instead("income in place of age", "(o.income / 1000)::INTEGER AS age", "max(abs(1000 * r.age - o.income)) <= 500", column="age"),
    # Pseudonyms that need no secret, and columns that moved as a whole
    pseudonyms("md5 of the key as a pseudonym", "md5(o.id::VARCHAR)", "bool_and(r.token = md5(o.id::VARCHAR))", rule="tells"),
    pseudonyms("the key and a constant as a pseudonym", "o.id + 48731", "bool_and(r.token - 48731 = o.id)", rule="tells"),
    pseudonyms("base64 of a name as a pseudonym", "base64(encode(o.name))", "bool_and(decode(from_base64(r.name)) = o.name)", "name", "tells"),
    pseudonyms("pseudonyms in half of the rows", f"if(o.id % 2 = 0, {keyed('name')}, o.name)", "count(*) FILTER (r.name = o.name) = 1000", "name", "pseudonym"),
    pseudonyms("one pseudonym for each two persons", "md5('a secret that nobody has' || o.id // 2)", "count(DISTINCT r.token) = 1001", rule="one_to_one"),
    pseudonyms("pseudonyms sorted as the names", "printf('%06d', row_number() OVER (ORDER BY o.name))", "arg_min(o.name, r.name) = min(o.name)", "name", "tells"),
    pseudonyms("names of others as pseudonyms", f"first_value(o.name) OVER (ORDER BY {keyed('id')} ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING)", "count(*) FILTER (r.name IN (SELECT name FROM people)) = 1999", "name", "pseudonym"),
    Case(
        "e-mail pseudonyms that keep the domain of one person", "people_mailed",
        f"SELECT m.*, {OWN_DOMAIN} AS email FROM masked m JOIN people_mailed o USING (id) ORDER BY id", CONF,
        "pseudonyms=['email']", rule="identifier", column="email", tells="max(r.email) FILTER (r.email LIKE '%@one.example') = max(r.email) FILTER (o.id = 1234)",
    ),
    kept("birth dates moved by one number of days", "o.birth + 4711", "bool_and(r.birth - 4711 = o.birth)", rule="tells"),
    kept("zip codes multiplied and moved", "7 * o.zip + 13", "bool_and((r.zip - 13) // 7 = o.zip)", "zip", "tells"),
    # Categories
    diseases("a category as it is", "o.disease", "bool_and(r.disease = o.disease)", rule="copy"),
    diseases("a category as it is with a design declared", "o.disease", "bool_and(r.disease = o.disease)", "p={'disease': 0.4}"),
    diseases("a recoded category", "MAP {'flu': 'A', 'asthma': 'B', 'anemia': 'C', 'cancer': 'D', 'gout': 'E'}[o.disease]", "count(DISTINCT (o.disease, r.disease)) = 5"),
    diseases("levels in a circle", "MAP {'flu': 'gout', 'gout': 'cancer', 'cancer': 'anemia', 'anemia': 'asthma', 'asthma': 'flu'}[o.disease]", "count(DISTINCT (o.disease, r.disease)) = 5", "p={'disease': 0.4}"),
    diseases("a category kept in 95 of 100 rows", f"if({uniform('kept', 'o.id')} < 0.95, o.disease, m.disease)", "avg((r.disease = o.disease)::INTEGER) > 0.9", "p={'disease': 0.4}"),
    diseases("a category as a number", CODE, "count(DISTINCT (o.disease, r.disease)) = 5", rule="tells"),
    Case(
        "a category as a number in a new column", "customers",
        f"SELECT m.*, {CODE} AS code FROM masked_disease m JOIN customers o USING (id)",
        ("disease",), "p={'disease': 0.4}", rule="tells", column="code", tells="count(DISTINCT (o.disease, r.code)) = 5 AND count(DISTINCT r.code) = 5",
    ),
    Case(
        "a masked category that carries another one", "customers",
        f"SELECT m.* REPLACE ({CARRIED} AS segment) FROM masked_disease m JOIN customers o USING (id)", ("disease", "segment"),
        "p={'disease': 0.4}", rule="tells", column="segment", tells="count(DISTINCT (o.disease, r.segment)) = 5",
    ),
    Case(
        "a masked category that is a fifth of income", "customers",
        "SELECT m.* EXCLUDE (debt) REPLACE ('s' || ntile(5) OVER (ORDER BY o.income) AS segment) FROM masked m JOIN customers o USING (id)", ("income", "segment"),
        rule="tells", column="segment", tells="corr(right(r.segment, 1)::INTEGER, o.income) > 0.85",
    ),
    Case(
        "masked income whose decimal is a category", "customers",
        f"SELECT m.* EXCLUDE (debt) REPLACE (floor(m.income) + {CODE} / 10 AS income), d.disease FROM masked m JOIN customers o USING (id) JOIN masked_disease d USING (id)",
        ("income", "disease"), "p={'disease': 0.4}", rule="tells", column="income", tells="count(DISTINCT (o.disease, round(10 * (r.income - floor(r.income))))) = 5",
    ),
    # A row that stands apart
    Case(
        "a row apart in two columns together and left as it was", "customers_odd",
        "SELECT m.* REPLACE (if(o.id = 1234, 1.001 * o.income, m.income) AS income), age_in_four_years FROM masked m JOIN customers_odd o USING (id) ORDER BY id",
        CONF, rule="leverage", tells="max(abs(r.income / o.income - 1)) FILTER (r.age_in_four_years <> r.age + 4) < 0.002",
    ),
)  # fmt: skip


def by(mask: str, table: str, more: str, columns: str = BASIC, conf: tuple[str, ...] = CONF) -> str:
    names = ", ".join(f"'{name}'" for name in conf)
    return f"SELECT {columns} FROM {mask}('{table}', conf=[{names}], {more}key='id', seed=1)"


KNOWN = "nonconf=['age', 'region', 'segment'], "
TAX, HOURS = ("PTOTVAL", "FEDTAX"), ("hours_per_week", "fnlwgt")
CENSUS, ADULT = "id, POTHVAL, EMCONTRB, PTOTVAL, FEDTAX", "id, age, education_num, sex, hours_per_week, fnlwgt"
TAXED, WORKED = "nonconf=['POTHVAL', 'EMCONTRB'], ", "nonconf=['age', 'education_num', 'sex'], "

SAFE: tuple[Case, ...] = (
    # What the unsafe ones are made from
    Case("egadp on customers", "customers", "FROM masked", CONF),
    Case("egadp on people whose names are left out", "people", "FROM masked", CONF),
    Case("egadp rounded on whole numbers", "customers_whole", "FROM masked_whole", CONF),
    Case("egadp on unrounded numbers", "customers_continuous", "FROM masked_continuous", CONF),
    Case("rr with its design declared", "customers", "FROM masked_disease", ("disease",), "p={'disease': 0.4}"),
    Case("egadp on texts as keys", "customers_keyed", masked("customers_keyed"), CONF),
    Case("egadp with many people in each group", "people", "SELECT * EXCLUDE (debt) FROM masked", ("income",), "qi=['region', 'segment']"),
    # Every mask on customers
    Case("egadp with nonconf named", "customers", "FROM masked", CONF, KNOWN.strip(", ")),
    Case("egadp with columns kept beside", "customers", "SELECT m.*, visits, disease FROM masked m JOIN customers USING (id)", CONF, "keep=['visits', 'disease']"),
    Case("egadp in a random order", "customers", f"FROM masked ORDER BY {uniform('order', 'id')}", CONF),
    Case("egadp in the order of a released column", "customers", f"FROM masked ORDER BY age, {uniform('order', 'id')}", CONF),
    Case("egadp of one column", "customers", by("egadp_mask", "customers", KNOWN, "id, age, region, segment, income", ("income",)), ("income",)),
    Case("egadp without nonconf", "customers", by("egadp_mask", "customers", "nonconf=[], ", "id, income, debt"), CONF),
    Case("egadp within regions", "customers", by("egadp_mask", "customers", "nonconf=['age'], strata=['region'], ", "id, age, region, income, debt"), CONF),
    Case("egadp_plain on customers", "customers", "SELECT id, age, income, debt FROM egadp_plain('customers', ['income', 'debt'], secret := 'keep this to yourself', key := 'id', nonconf := ['age'])", CONF),
    Case("ipso on customers", "customers", by("ipso_mask", "customers", KNOWN), CONF),
    Case("gadp on customers", "customers", by("gadp_mask", "customers", KNOWN), CONF),
    Case("sufficiency with alpha 0 on customers", "customers", by("sufficiency_mask", "customers", KNOWN + "alpha=0, "), CONF),
    Case("shuffle on customers", "customers", by("shuffle_mask", "customers", KNOWN), CONF),
    Case("cgadp on customers", "customers", by("cgadp_mask", "customers", KNOWN), CONF),
    Case("nm_egadp on customers", "customers", by("nm_egadp_mask", "customers", KNOWN), CONF),
    Case("rank_swap of any reach on customers", "customers", by("rank_swap_mask", "customers", "reach=100, "), CONF),
    Case("pram with its design declared", "customers", "SELECT id, age, region, segment, disease FROM pram_mask('customers', conf=['disease'], p=0.4, key='id', seed=1)", ("disease",), "p={'disease': 0.4}"),
    Case("generalize of age and zip", "people", "FROM generalize_mask('(SELECT id, age, zip FROM people)', qi=['age', 'zip'], k=50)", ("age", "zip")),
    Case("rr of two categories", "customers", "SELECT id, age, region, segment, disease FROM rr_mask('customers', p={'disease': 0.4, 'segment': 0.4}, key='id', seed=1)", ("disease", "segment"), "p={'disease': 0.4, 'segment': 0.4}"),
    Case("egadp and rr together", "customers", "SELECT m.* EXCLUDE (debt), d.disease FROM masked m JOIN masked_disease d USING (id)", ("income", "disease"), "p={'disease': 0.4}"),
    Case("anatomy of disease", "customers", "FROM anatomy_mask('customers', qi=['age', 'region'], sensitive='disease', l=3, keep=['id'], key='id', seed=1)", ("disease",)),
    # Identifiers that a secret replaces, and columns that are coarse or moved one by one
    pseudonyms("keyed tokens of the key", keyed("id")),
    pseudonyms("keyed numbers of the key", f"('0x' || substr({keyed('id')}, 1, 12))::BIGINT"),
    pseudonyms("random identifiers of the key", "uuid()"),
    pseudonyms("keyed tokens of names", keyed("name"), of="name"),
    pseudonyms("keyed digits of insurance numbers", f"('0x' || substr({keyed('insurance_number')}, 1, 12))::BIGINT % 900000000 + 100000000", of="insurance_number"),
    pseudonyms("keyed telephone numbers", f"printf('+41 7%08d', ('0x' || substr({keyed('phone')}, 1, 12))::BIGINT % 100000000)", of="phone"),
    pseudonyms("keyed e-mail addresses that keep their domain", OWN_DOMAIN, of="email"),
    kept("birth dates moved by up to a year for each person", f"o.birth + (('0x' || substr({keyed('id')}, 1, 12))::BIGINT % 731 - 365)::INTEGER"),
    kept("months of birth", "date_trunc('month', o.birth)::DATE"),
    kept("years of birth", "year(o.birth)"),
    kept("ranges of zip codes", "('[' || o.zip // 50 * 50 || '-' || o.zip // 50 * 50 + 49 || ']')", column="zip"),
    kept("zip codes cut off", "left(o.zip::VARCHAR, 2)", column="zip"),
    # Other data
    Case("egadp with NULL as a level", "customers_gaps", masked("customers_gaps", ", on_null='level'"), CONF),
    Case("shuffle with NULL as a level", "customers_gaps", by("shuffle_mask", "customers_gaps", KNOWN + "on_null='level', "), CONF),
    Case("egadp with unknown debts allowed", "customers_unknown", masked("customers_unknown"), CONF, "limits={'linkage': 0.05, 'unchanged': 0.01, 'left_out': 0.15}"),
    Case("egadp with unknown debts filled", "customers_filled", masked("customers_filled"), CONF),
    Case("egadp on 300 rows", "small", masked("small"), CONF),
    Case("shuffle on 300 rows", "small", by("shuffle_mask", "small", KNOWN), CONF),
    Case("gadp on 300 rows", "small", by("gadp_mask", "small", KNOWN), CONF),
    Case("egadp on 20,000 rows", "large", masked("large"), CONF),
    Case("shuffle on 20,000 rows", "large", by("shuffle_mask", "large", KNOWN), CONF),
    Case("ipso rounded on whole numbers", "customers_whole", by("ipso_mask", "customers_whole", KNOWN + "round=true, "), CONF),
    Case("cgadp rounded on whole numbers", "customers_whole", by("cgadp_mask", "customers_whole", KNOWN + "round=true, "), CONF),
    Case("shuffle on whole numbers", "customers_whole", by("shuffle_mask", "customers_whole", KNOWN), CONF),
    Case("nm_egadp on a relation that turns round", "tent", by("nm_egadp_mask", "tent", "nonconf=['x'], ", "id, x, y", ("y",)), ("y",)),
    Case("nm_egadp shuffled on a relation that turns round", "tent", by("nm_egadp_mask", "tent", "variant=2, nonconf=['x'], ", "id, x, y", ("y",)), ("y",)),
    Case("shuffle on skewed columns", "skewed", by("shuffle_mask", "skewed", "nonconf=['s'], ", "id, s, a, b", ("a", "b")), ("a", "b")),
    Case("cgadp on skewed columns", "skewed", by("cgadp_mask", "skewed", "nonconf=['s'], ", "id, s, a, b", ("a", "b")), ("a", "b")),
    Case("shuffle on a column of mostly zeros", "savers", by("shuffle_mask", "savers", "nonconf=['age', 'region'], ", "id, age, region, savings", ("savings",)), ("savings",)),
    Case("egadp on a column of mostly zeros", "savers", by("egadp_mask", "savers", "nonconf=['age', 'region'], ", "id, age, region, savings", ("savings",)), ("savings",)),
    Case("egadp on Adult", "adult", by("egadp_mask", "adult", WORKED, ADULT, HOURS), HOURS),
    Case("gadp on Adult", "adult", by("gadp_mask", "adult", WORKED, ADULT, HOURS), HOURS),
    Case("shuffle on Adult", "adult", by("shuffle_mask", "adult", WORKED, ADULT, HOURS), HOURS),
    Case("shuffle of capital gains on Adult", "adult", by("shuffle_mask", "adult", WORKED, "id, age, education_num, sex, capital_gain", ("capital_gain",)), ("capital_gain",)),
    Case("rr on Adult", "adult", "SELECT id, age, sex, race FROM rr_mask('adult', p={'race': 0.3}, key='id', seed=1)", ("race",), "p={'race': 0.3}"),
    Case("egadp on Census", "census", by("egadp_mask", "census", TAXED, CENSUS, TAX), TAX),
    Case("ipso on Census", "census", by("ipso_mask", "census", TAXED, CENSUS, TAX), TAX),
    Case("shuffle on Census", "census", by("shuffle_mask", "census", TAXED, CENSUS, TAX), TAX),
    # Releases that are read anew each time
    Case("a view over a keyed egadp", "customers", masked("customers"), CONF, kind="view"),
    Case("a SELECT over a keyed egadp", "customers", masked("customers"), CONF, kind="select"),
    Case("a view over a keyed shuffle", "customers", by("shuffle_mask", "customers", KNOWN), CONF, kind="view"),
)  # fmt: skip
