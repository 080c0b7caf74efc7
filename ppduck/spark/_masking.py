"""A masking call on Spark's engine: planned against Spark's tables, run in its workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ppduck.call.registry import Function, Kind
from ppduck.errors import Faults, PpduckError, listed, quoted
from ppduck.policy.release_table import NAME, ReleaseTableCall, policy_of
from ppduck.query import tree as sql
from ppduck.spark._catalog import SparkCatalog
from ppduck.spark._driver import Driver
from ppduck.spark._engine import SparkEngine
from ppduck.spark._ranks import ByRanks
from ppduck.stages.engine import Run
from ppduck.stages.plan import Plan, Sorted
from ppduck.stages.scores import RankedPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What cannot be had in parts, and what to do instead.
INSTEAD = {
    "nm_egadp_mask": "its model is learnt and evaluated on all rows at once; mask in DuckDB, or "
    "take shuffle_mask where relations rise or fall",
    "onn_mask": "its networks learn from all rows at once; mask in DuckDB, or take shuffle_mask",
    "microaggregate_mask": "it groups the nearest of all rows; give strata in DuckDB for one part of the table at a "
    "time, or take shuffle_mask",
    "rank_swap_mask": "it swaps among all rows; take shuffle_mask",
    "anatomy_mask": "it deals rows of the whole table into groups; take rr_mask for the sensitive column",
    "generalize_mask": "it looks for the coarseness that the whole table needs; find it in DuckDB on a sample and "
    "recode by it",
    "recode_mask": "it looks at all rows for quantiles and rare levels; recode in DuckDB",
    "date_mask": "it counts over all rows how many people share a day; mask in DuckDB",
    "egadp_plain": "it is a macro for DuckDB's own shell; take egadp_mask",
    "noise_plain": "it is a macro for DuckDB's own shell; take noise_mask",
    "pseudonym_plain": "it is a macro for DuckDB's own shell; take pseudonym_mask",
    "rr_plain": "it is a macro for DuckDB's own shell; take rr_mask",
}
# What deals all rows out anew, by ranges of values.
RANKED = ("shuffle_mask", "cgadp_mask")


def released(
    function: Function,
    texts: Sequence[str | None],
    driver: Driver,
    frame: Callable[[str], DataFrame],
) -> tuple[DataFrame, SparkEngine]:
    """The release as Spark has tables, to be computed when it is read, and what it was planned with."""
    if function.name in INSTEAD:
        raise PpduckError(f"{function.name} cannot run on Spark: {INSTEAD[function.name]}.")
    if function.kind is not Kind.MASK:
        raise PpduckError(
            f'{function.name} is no mask: ask for it by ppduck.spark.sql(spark, "FROM {function.name}(…)").'
        )
    catalog = SparkCatalog.of(driver, frame)
    call = function.read(texts, catalog)
    if not getattr(call, "key", True):  # what takes none has no noise that goes by rows
        raise Faults(function.name, call.tbl).refuse(
            "key is missing: on Spark no row has a number that lasts, so that noise goes by a key; name the columns "
            "that identify a row, such as key='id'."
        )
    if isinstance(call, ReleaseTableCall):
        _refuse_parts(catalog, call)
    plan = function.plan(catalog, call)
    assert isinstance(plan, Plan)
    assert isinstance(plan, RankedPlan) or not _sorted(plan), (
        f"{function.name} is missing in INSTEAD"
    )
    [engine] = catalog.engines.values()
    if isinstance(plan, RankedPlan):
        return ByRanks(plan, driver, engine).release(), engine
    return Run(driver, engine).release(plan), engine


def _refuse_parts(catalog: SparkCatalog, call: ReleaseTableCall) -> None:
    """Refuses, by their names, the masks of a policy that Spark cannot run in one pass with the others."""
    policy = policy_of(NAME, catalog, call)
    faults = Faults(NAME, call.tbl)
    if policy.batch is not None:
        faults.add(
            "batches cannot run on Spark; give the rows of one batch as the table, by a policy without batch."
        )
    for step in policy.steps:
        why = INSTEAD.get(step.function)
        if step.function in RANKED:
            why = "it ranks all rows, and the other masks go row by row; call it by itself for its columns, and join"
        if why is not None:
            faults.add(f"{step.function} of {listed(step.columns)} cannot run on Spark: {why}.")
    faults.raise_if_any()


def _sorted(plan: Plan) -> bool:
    return any(isinstance(stage, Sorted) for stage in (*plan.stages, plan.answer))


def written(arguments: dict[str, Any]) -> str:
    """Arguments that Python gives, as SQL."""
    return ", ".join(
        f"{quoted(name)} := {_literal(value)}"
        for name, value in arguments.items()
        if value is not None
    )


def _literal(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "NULL"}[value]
    if isinstance(value, str):
        return sql.render(sql.text(value))
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(str(k))}: {_literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    raise PpduckError(
        f"ppduck.spark: an argument of type {type(value).__name__} has no SQL; give text, numbers, "
        "lists or dictionaries."
    )
