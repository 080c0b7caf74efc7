"""What the gate asks of conf columns that a release hides in groups: ranges in their place, or group numbers.

A column that the release has as text and the original as a number, a date or a truth value was generalised: whoever
knows the original looks for the rows whose ranges fit, and finds one of the n that share them with 1/n. A column that
the release does not have, where it has ``group_id``, was anatomized: what a group's rows have in common is known of
each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ppduck.catalogue.tables import Catalog, Source
from ppduck.errors import Faults, quoted
from ppduck.masks.groups import GROUP_ID
from ppduck.query import tree as sql

GROUP_RISK, UNGENERALISED, ATTRIBUTE_RISK = "group_risk", "ungeneralised", "attribute_risk"
MEANINGS = {
    GROUP_RISK: "1 by the rows of the smallest group that shares all generalised values and categories of conf; lower "
    "is safer",
    UNGENERALISED: "share of a generalised column's values that are the originals, as text; lower is safer",
    ATTRIBUTE_RISK: "largest share of a group's rows that have the same value of a conf column; lower is safer",
}
# Mondrian leaves a value as it is that enough rows share; where most are left so, nothing was generalised.
LIMITS = {GROUP_RISK: 1 / 3, UNGENERALISED: 0.5, ATTRIBUTE_RISK: 0.5}


@dataclass(frozen=True)
class Grouped:
    """The conf columns of a call that are hidden in groups, and what reads them."""

    original: Source
    release: Source
    key: list[str]
    generalised: list[str]
    categories: list[str]  # beside them, by which a group is made smaller
    anatomized: list[str]

    @property
    def rules(self) -> list[str]:
        asked = {GROUP_RISK: self.generalised, UNGENERALISED: self.generalised, ATTRIBUTE_RISK: self.anatomized}
        return [rule for rule, columns in asked.items() if columns]

    def value(self, rule: str) -> str:
        """A SELECT of one number as ``value``; NULL where there are no rows, or where they find no partner."""
        return {
            GROUP_RISK: self._group_risk,
            UNGENERALISED: self._ungeneralised,
            ATTRIBUTE_RISK: self._attribute_risk,
        }[rule]()

    def _group_risk(self) -> str:
        sizes = f"SELECT count(*) AS n FROM {self.release.sql} GROUP BY {_names([*self.generalised, *self.categories])}"
        return f"SELECT 1.0::DOUBLE / min(n) AS value FROM ({sizes})"

    def _matched(self, columns: Sequence[str], beside: Sequence[str]) -> str:
        """Rows of the release with ``beside``, and columns of their originals as _pp_o0, _pp_o1, …"""
        key = _names(self.key)
        originals = ", ".join(f'{sql.render(sql.column(name))} AS "_pp_o{i}"' for i, name in enumerate(columns))
        partners = f"SELECT {key}, {originals} FROM {self.original.sql}"
        return f"(SELECT {key}, {_names(beside)} FROM {self.release.sql}) LEFT JOIN ({partners}) USING ({key})"

    def _ungeneralised(self) -> str:
        rows = self._matched(self.generalised, self.generalised)
        shares = [
            f'CASE WHEN count("_pp_o{i}") = count({name}) THEN avg(({name} = CAST("_pp_o{i}" AS VARCHAR))::INTEGER) END'
            for i, name in enumerate(map(_name, self.generalised))
        ]
        known = " AND ".join(f"({share}) IS NOT NULL" for share in shares)
        return f"SELECT CASE WHEN {known} THEN greatest({', '.join(shares)}) END AS value FROM {rows}"

    def _attribute_risk(self) -> str:
        group = _name(GROUP_ID)
        rows = self._matched(self.anatomized, [GROUP_ID])
        largest = []
        for column in (f'"_pp_o{i}"' for i in range(len(self.anatomized))):
            counted = f"SELECT {group}, {column}, count(*) AS n FROM {rows} GROUP BY {group}, {column}"
            shares = f"SELECT max(n) / sum(n) AS share, count({column}) = count(*) AS known FROM ({counted})"
            largest.append(f"SELECT share, known FROM ({shares} GROUP BY {group})")
        every = " UNION ALL ".join(largest)
        return f"SELECT CASE WHEN bool_and(known) THEN max(share) END AS value FROM ({every})"


def grouped(catalog: Catalog, function: str, given: dict[str, Any]) -> Grouped:
    """Which conf columns are hidden in groups; none where the planner cannot see both tables."""
    original, release = (catalog.source(function, given[each]) for each in ("original", "release"))
    generalised: list[str] = []
    categories: list[str] = []
    anatomized: list[str] = []
    for name in given["conf"] if original.columns and release.columns else ():
        before, after = original.find(name), release.find(name)
        if before is not None and after is None and release.find(GROUP_ID):
            anatomized.append(before.name)
        elif before is not None and after is not None and after.type == "VARCHAR":
            (categories if before.is_category else generalised).append(after.name)
    faults = Faults(function, original.label)
    for source in (original, release) if generalised or anatomized else ():
        for name in given["key"]:
            if source.find(name) is None:
                faults.add(
                    f"key names column {quoted(name)}, which {quoted(source.label)} does not have; rows are matched by "
                    "it. generalize_mask leaves it where it is not dropped, anatomy_mask by keep := […]."
                )
    faults.raise_if_any()
    return Grouped(original, release, list(given["key"]), generalised, categories, anatomized)


def _name(name: str) -> str:
    return sql.render(sql.name(name))


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(_name, columns))
