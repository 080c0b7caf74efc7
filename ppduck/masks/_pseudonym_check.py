"""What is refused of values that are to have pseudonyms: what a form cannot take, counted before a row is released."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.kernels.pseudonyms import FEWEST_DIGITS, MOST_DIGITS
from ppduck.masks._pseudonym_forms import DIGITS, INTEGER, Asked
from ppduck.query import tree as sql
from ppduck.query.aggregates import count_if
from ppduck.stages import aggregates, keys
from ppduck.stages.masking import LOOK, SEEN, SOURCE
from ppduck.stages.plan import Groups, Stage, Totals

CHECKED = "_pp_checked"  # 0, or an error
# How many digits the largest number of a type has: not every number of so many is one.
_LONGEST = {
    "INTEGER": 10, "UINTEGER": 10, "BIGINT": 19, "UBIGINT": 20, "HUGEINT": 39, "UHUGEINT": 39,
    "TINYINT": 3, "UTINYINT": 3, "SMALLINT": 5, "USMALLINT": 5,
}  # fmt: skip
_FRACTIONS = ("DOUBLE", "FLOAT")
_MOST_WHOLE_DIGITS = 18  # of which every number is one of 64 bits


@frozen
class Finding:
    """Something that no row may have: in which column, what, and what helps."""

    column: str
    what: str
    remedy: str


@frozen
class PseudonymSpec(Spec):
    findings: list[Finding]
    numbered: list[str]  # the columns of which values and their numbers are counted


@frozen
class Seen:
    """How many rows there are, and have what is not to be; how many values and numbers of them."""

    rows: int
    found: list[int]
    values: list[int]
    numbers: list[int]


def look(function: str, table: str, asked: Sequence[Asked]) -> list[Stage]:
    """The stages that count and refuse; none where no value of these columns can be wrong."""
    findings = [each for column in asked for each in _findings(column)]
    numbered = [each for each in asked if _may_collide(each)]
    if not findings and not numbered:
        return []
    texts = [keys.text(each.column) for each in numbered]
    numbers = [each.number for each in numbered]
    told = [
        aggregates.rows("_pp_rows"),
        aggregates.counts("_pp_found", [count_if(condition) for _, condition in findings]),
        aggregates.counts_distinct("_pp_values", texts),
        aggregates.counts_distinct("_pp_numbers", numbers),
    ]
    names = [each.column.name for each in numbered]
    spec = PseudonymSpec(function, table, [finding for finding, _ in findings], names)
    checked = sql.named(CHECK.in_sql(spec, aggregates.told(told)), CHECKED)
    return [
        Totals(SEEN, False, [], told, sql.table(SOURCE)),
        Groups(LOOK, True, sql.query([checked], sql.table(SEEN))),
    ]


def _findings(asked: Asked) -> Iterator[tuple[Finding, sql.Expr]]:
    """What may be wrong with values of a column, and the condition of it."""
    column, text = asked.column, sql.cast(sql.column(asked.column.name), "VARCHAR")
    if not column.type or column.type in _FRACTIONS:
        yield (
            Finding(column.name, "holds NaN or infinity", "make it NULL, or leave such rows out"),
            _is_not_finite(asked, text),
        )
    if asked.form == DIGITS:
        yield from _findings_of_digits(asked, text)
    if asked.form == INTEGER and asked.reverse and not keys.is_always_whole(column):
        no_number = exp.and_(exp.Not(this=text.is_(exp.null())), keys.whole(column).is_(exp.null()))
        remedy = f"of the form {INTEGER!r}, only what it makes of whole numbers can be reversed"
        yield Finding(column.name, "holds no whole number of 64 bits", remedy), no_number


def _is_not_finite(asked: Asked, text: sql.Expr) -> sql.Expr:
    kind = sql.call("typeof", sql.column(asked.column.name))
    finite = sql.call("isfinite", sql.tried(text.copy(), "DOUBLE"))
    return exp.and_(sql.among(kind, _FRACTIONS), exp.Not(this=finite))


def _findings_of_digits(asked: Asked, text: sql.Expr) -> Iterator[tuple[Finding, sql.Expr]]:
    name, type_ = asked.column.name, asked.column.type
    another = "make them NULL, leave such rows out, or name the form 'token'"
    yield (
        Finding(
            name,
            f"has fewer than {FEWEST_DIGITS} digits",
            f"so few could be tried out: {another}",
        ),
        exp.Not(this=_has_digits(text, FEWEST_DIGITS)),
    )
    longest = _LONGEST.get(type_)
    if longest is not None:
        yield (
            Finding(
                name,
                f"has {longest} digits",
                f"not every number of so many is a {type_}: cast it to a wider type or VARCHAR in tbl, or name the "
                f"form {INTEGER!r}",
            ),
            _has_digits(text, longest),
        )
    if asked.is_text:
        yield (
            Finding(name, f"has more than {MOST_DIGITS} digits", another),
            _has_digits(text, MOST_DIGITS + 1),
        )
        others = sql.call("regexp_matches", text.copy(), sql.text(r"[^\P{N}0-9]"))
        remedy = "they would stay as they are: write them as 0 to 9 in tbl"
        yield Finding(name, "holds digits other than 0 to 9", remedy), others


def _has_digits(text: sql.Expr, count: int) -> sql.Expr:
    return sql.call("regexp_matches", text.copy(), sql.text(rf"(?:[0-9][^0-9]*){{{count}}}"))


def _may_collide(asked: Asked) -> bool:
    """Whether values that are no whole numbers of 64 bits may be among those that get a number."""
    type_ = asked.column.type
    if asked.form != INTEGER or asked.reverse or keys.is_always_whole(asked.column):
        return False
    if type_.startswith("DECIMAL(") and type_.endswith(",0)"):
        return int(type_[len("DECIMAL(") : -len(",0)")]) > _MOST_WHOLE_DIGITS
    return True


def check(spec: PseudonymSpec, seen: Seen) -> int:
    """0 where no value is wrong; raises otherwise."""
    faults = spec.faults()
    for finding, count in zip(spec.findings, seen.found, strict=True):
        if count:
            faults.add(
                f"column {quoted(finding.column)} {finding.what} in {count} of {seen.rows} rows; {finding.remedy}."
            )
    for name, values, numbers in zip(spec.numbered, seen.values, seen.numbers, strict=True):
        if numbers < values:
            faults.add(
                f"column {quoted(name)} has {values} values, and only {numbers} numbers stand for them: what is no "
                f"whole number goes by 63 bits of its digest, which some share. Name the form 'token'."
            )
    faults.raise_if_any()
    return 0


CHECK = told_udf("ppduck_pseudonym_check", check, PseudonymSpec, Seen, "BIGINT")
