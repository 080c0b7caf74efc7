"""What a user calls: a statement, a mask, a release on Spark's own engine."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ppduck.call.registry import Function, Kind
from ppduck.errors import PpduckError
from ppduck.secret import given_secret
from ppduck.spark import _calls, _compared, _counted, _masking, _recorded, _versions
from ppduck.spark._driver import Driver
from ppduck.spark._publish import publish, refuse_target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UNGIVEN = secrets.token_bytes(
    32
)  # as in DuckDB, noise changes with every start where no secret is given
_GIVEN_FRAME = "DataFrame"


def sql(spark: SparkSession, statement: str, *, secret: str | bytes | None = None) -> DataFrame:
    """A statement of Spark's SQL in which ppduck's functions may stand wherever a table may.

    Parameters
    ----------
    spark:
        A session of Spark 4, classic or Connect.
    statement:
        One statement. Calls are written as in DuckDB; the tables that they name are Spark's.
    secret:
        What keys the noise, as for ``ppduck.load``: 16 bytes or more, else the environment variable PPDUCK_SECRET.
    """
    frames: dict[str, Any] = {}
    found = _calls.calls(statement)
    for i, call in enumerate(found):
        frames[f"ppduck_call_{i}"] = _answer(spark, call.text, secret)
    return spark.sql(_calls.replaced(statement, found, list(frames)), **frames)


def mask(
    spark: SparkSession,
    function: str,
    table: str | DataFrame,
    *,
    secret: str | bytes | None = None,
    **arguments: Any,
) -> DataFrame:
    """A masked table as a data frame, which Spark computes when it is read.

    Parameters
    ----------
    spark:
        A session of Spark 4, classic or Connect.
    function:
        The name of a mask, such as 'egadp_mask'.
    table:
        The name of a table or view, a SELECT in parentheses, or a data frame.
    secret:
        What keys the noise, as for ``ppduck.load``.
    arguments:
        What the mask takes, as in SQL: ``conf=["x1"], key="id"``.
    """
    with Driver(_secret(secret)) as driver:
        frame = _frame(spark, table, secret)
        own, texts = driver.read(_text(function, table, arguments))
        return _masking.released(own, texts, driver, frame)[0]


def release(
    spark: SparkSession,
    function: str,
    table: str | DataFrame,
    *,
    to: str,
    secret: str | bytes | None = None,
    **arguments: Any,
) -> DataFrame:
    """Writes a masked table: aside first, and under its name only if it is whole.

    What was there under the name stays until then, and stays for good where anything fails: a source that changes
    meanwhile, a task that cannot be done, a job that is killed.

    Parameters
    ----------
    to:
        The name of the table to make, such as 'lake.release'; only a release of ppduck's is replaced.
    spark, function, table, secret, arguments:
        As for ``mask``.
    """
    refuse_target(spark, to)
    with Driver(_secret(secret)) as driver:
        text, frame = _text(function, table, arguments), _frame(spark, table, secret)
        own, texts = driver.read(text)
        made, engine = _masking.released(own, texts, driver, frame)
        return publish(spark, made, engine, to, _text(function, table, _recorded.told(arguments)))


def _answer(spark: SparkSession, text: str, secret: str | bytes | None) -> DataFrame:
    """The table that a call stands for."""
    with Driver(_secret(secret)) as driver:
        function, texts = driver.read(text)
        if function.kind is Kind.MASK:
            return _masking.released(function, texts, driver, _frames(spark, secret))[0]
        return spark.createDataFrame(
            _computed(function, text, texts, driver, _frames(spark, secret))
        )


def _computed(
    function: Function,
    text: str,
    texts: Sequence[str | None],
    driver: Driver,
    frame: Callable[[str], DataFrame],
) -> Any:
    if function.name in _counted.COUNTED:
        return _counted.answered(function, text, driver, frame)
    if function.name == _compared.NAME:
        return _compared.answered(function, texts, driver, frame)
    known = ", ".join(sorted([*_counted.COUNTED, _compared.NAME]))
    raise PpduckError(
        f"{function.name} cannot run on Spark; {_instead(function)} On Spark run all linear masks, shuffle_mask, "
        f"cgadp_mask, rr_mask, pram_mask, pseudonym_mask, release_table, and: {known}."
    )


def _instead(function: Function) -> str:
    if function.kind is Kind.HELP:
        return "ask DuckDB (ppduck.connect()), which knows all functions."
    return "bring a sample of the table, or the release, into DuckDB and ask there."


def _frame(
    spark: SparkSession, table: str | DataFrame, secret: str | bytes | None
) -> Callable[[str], DataFrame]:
    return _frames(spark, secret) if isinstance(table, str) else lambda label: table


def _text(function: str, table: str | DataFrame, arguments: dict[str, Any]) -> str:
    label = table if isinstance(table, str) else _GIVEN_FRAME
    return f"{function}({_masking.written({'tbl': label, **arguments})})"


def _frames(spark: SparkSession, secret: str | bytes | None) -> Callable[[str], DataFrame]:
    """Spark's table of a name, or of a SELECT in parentheses, in which calls may stand too."""

    def frame(label: str) -> DataFrame:
        if label.startswith("(") and label.endswith(")"):
            return sql(spark, label[1:-1], secret=secret)
        return _versions.table(spark, label)

    return frame


def _secret(given: str | bytes | None) -> bytes:
    return given_secret(given) or _UNGIVEN
