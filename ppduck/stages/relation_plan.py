"""What the functions that look before a release share: a plan that trains the model of nm_egadp_mask, and asks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from ppduck.call import arguments
from ppduck.call.linear_mask import LinearMask
from ppduck.call.numeric_mask import NumericCall
from ppduck.call.parameters import fixed, parameter, parameters
from ppduck.call.registry import Result
from ppduck.call.roles import assign
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.runtime.spec import MaskSpec
from ppduck.stages.look import look, specification
from ppduck.stages.masking import Masking
from ppduck.stages.moments import Measured
from ppduck.stages.narrow_table import NARROW
from ppduck.stages.plan import Groups, Plan, Stage
from ppduck.stages.relation import SAMPLE_SIZE, Relation
from ppduck.stages.source import source

STRATUM = "stratum"


@parameters
class LookCall(NumericCall):
    """The parameters of a mask that also decide what can be said of it beforehand."""

    key: Sequence[str] = parameter(
        arguments.columns,
        "the columns that identify a row, as the mask is told them: they are no nonconf by default",
        (),
        last=True,
    )
    seed: None = fixed(None)
    round: bool = fixed(False)
    drop: Sequence[str] = fixed(())


@frozen
class RelationPlan:
    """Stages that end in a list of rows from Python, one list a group."""

    masking: Masking
    sample_size: int

    @classmethod
    def of(
        cls,
        name: str,
        of: LinearMask,
        catalog: Catalog,
        call: LookCall,
        sample_size: int = SAMPLE_SIZE,
    ) -> RelationPlan:
        """The plan of one call, for a mask; messages come under the name of the function that asks."""
        roles = assign(name, catalog, call)
        # Nothing is released, and nothing promised.
        mask = replace(of, name=name, takes=type(call), keeps=(), weighs_x=lambda call: "all")
        return cls(Masking(mask, roles, call), sample_size)

    @cached_property
    def relation(self) -> Relation:
        return Relation(self.masking, self.sample_size)

    @property
    def spec(self) -> MaskSpec:
        return specification(self.masking, self.relation.terms)

    def sampling(self) -> list[Stage]:
        """Up to the sample of each group. Rows may share a key."""
        masking = self.masking
        looked = look(masking, self.relation.terms, shared_keys=True)
        return [source(masking, numbered=True), *looked, self.relation.training()]

    def training(self) -> list[Stage]:
        """Up to the model of each group."""
        return [*self.sampling(), self.relation.models()]

    def measuring(self) -> list[Stage]:
        """Up to the moments of [S, û, X] over all rows."""
        measured = Measured(self.masking, self.relation.terms, NARROW, False, "all")
        return [*self.training(), self.relation.narrow(), measured.moments()]

    def answer(
        self,
        stages: Sequence[Stage],
        udf: Udf,
        tables: Sequence[str],
        told: dict[str, sql.Expr],
        results: Sequence[Result],
    ) -> sql.Expr:
        """The rows that a function gives for each group of these tables, the group's name first where there is one."""
        masking = self.masking
        first, *others = tables
        rows = sql.table(first)
        for other in others:
            rows = rows.matched(sql.table(other), masking.same_group(first, other))
        label = masking.label(first)
        asked = udf.in_sql(self.spec, {"group": label, **told})
        columns = [
            sql.named(label.copy(), STRATUM),
            sql.named(sql.call("unnest", asked), "_pp_row"),
        ]
        fields = [
            sql.named(sql.part(sql.column("_pp_row"), each.name), each.name) for each in results
        ]
        shown = [sql.column(STRATUM), *fields] if masking.by else fields
        answer = sql.query(shown, sql.derived(sql.query(columns, rows), "_pp_answered"))
        return Plan(tuple(stages), Groups("_pp_answer", False, answer)).query()
