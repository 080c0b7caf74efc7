"""A proposal for a policy: what may become of every column, and why; to be read by a person and applied by nobody else.

Rules go by the names and types of columns and by what was counted of some rows. What no rule knows is dropped. A reason
tells counts and shares, and never a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.policy import _suggestion_numbers as numbers
from ppduck.policy import _suggestion_texts as texts
from ppduck.policy._suggestion_figures import Figures, figures
from ppduck.policy._suggestion_key import key_of, person_of
from ppduck.policy._suggestion_look import Looked, SuggestionSpec, is_date, is_single, sample_size
from ppduck.policy._suggestion_relations import Told, levels_of, told_by_others
from ppduck.policy.proposal import at_the_top, in_a_line

LIMITS = {"linkage": 0.05, "k": 5}
_NEED_KEY = ("mask", "randomize")
_MOST_FEATURES = 60  # of nonconf
_ROWS_PER_FEATURE = 10


@frozen
class Line:
    """A line of a policy, of a column or of the whole, as YAML; without a treatment it only says something."""

    column_name: str | None
    treatment: str | None
    reason: str

    def row(self) -> dict[str, str | None]:
        return {
            "column_name": self.column_name,
            "treatment": self.treatment,
            "reason": self.reason,
        }


def solve(spec: SuggestionSpec, looked: Looked) -> list[dict[str, str | None]]:
    """The rows of the answer."""
    return [line.row() for line in proposal(spec, figures(spec, looked))]


def proposal(spec: SuggestionSpec, found: Sequence[Figures]) -> list[Line]:
    """The lines of a policy in their order."""
    guessed = None if spec.key else key_of(found)
    key = spec.key or ([guessed[0]] if guessed else [])
    per = person_of(found, key)
    told = {of.name: _of_column(of, key, per) for of in found}
    masked = {
        mask: [of for of in found if told[of.name][0] == {"mask": mask}]
        for mask in ("egadp", "shuffle")
    }
    own = [of for each in masked.values() for of in each]
    others = [of for of in found if of not in own and of.name not in key and _stays(told[of.name])]
    known = told_by_others(own, others)
    lines = [Line(None, at_the_top("from", spec.table), _rows_looked_at(spec, found))]
    lines.append(_key_line(spec, key, guessed))
    for of in found:
        treatment, why = told[of.name]
        if of.name in known:
            why += f"; {_told(known[of.name])}"
        if not key and isinstance(treatment, Mapping) and any(w in treatment for w in _NEED_KEY):
            treatment, why = "drop", f"with a key {in_a_line(treatment)} would do: {why}"
        lines.append(Line(of.name, in_a_line(treatment), why))
    if key:
        lines += [_mask_line(mask, of, others) for mask, of in masked.items() if of]
    lines.append(
        Line(None, at_the_top("limits", LIMITS), "what the gate asks beside its own rules")
    )
    return lines


def _of_column(of: Figures, key: Sequence[str], per: Sequence[str]) -> texts.Proposal:
    if of.name in key:
        return texts.TOKEN, "identifies a row: the same value has the same token in every table"
    if not is_single(of.column):
        kind = of.column.type.partition("(")[0]
        return texts.DROP, f"of type {kind}, which no mask treats: take what is needed into a view"
    if of.rows and not of.present:
        return texts.DROP, "NULL in all rows looked at: nobody knows what it will hold"
    if of.column.type == "UUID":
        return texts.TOKEN, "UUIDs, which identify here or elsewhere"
    if of.column.is_boolean:
        return numbers.flag(of)
    if is_date(of.column):
        return numbers.date(of, per)
    return numbers.number(of) if of.column.is_numeric else texts.text(of)


def _stays(proposal: texts.Proposal) -> bool:
    """Whether the levels of a column are released, coarsened or not."""
    treatment = proposal[0]
    if isinstance(treatment, Mapping):
        return "recode" in treatment or "randomize" in treatment
    return bool(treatment == texts.KEEP)


def _key_line(spec: SuggestionSpec, key: Sequence[str], guessed: tuple[str, str] | None) -> Line:
    if not key:
        why = (
            "key: no column was found that identifies a row, and without one nothing is masked or randomized; name it "
            "(key=…, or --key), and ask again"
        )
        return Line(None, None, why)
    named = at_the_top("key", key[0] if len(key) == 1 else list(key))
    return Line(None, named, guessed[1] if guessed else "as was told")


def _mask_line(mask: str, of: Sequence[Figures], others: Sequence[Figures]) -> Line:
    """The arguments of a mask: with which columns the masked numbers stay related."""
    left = min(_MOST_FEATURES, of[0].rows // _ROWS_PER_FEATURE - len(of))
    nonconf: list[Figures] = []
    for each in others:
        size = levels_of(each)
        if 0 < size <= left and _fits_nonconf(each):
            nonconf.append(each)
            left -= size + each.has_nulls
    arguments: dict[str, Any] = {"nonconf": [each.name for each in nonconf]}
    if any(each.has_nulls for each in nonconf):
        arguments["on_null"] = "level"
    if mask == "egadp" and any(not each.column.is_fraction for each in of):
        arguments["round"] = True
    why = (
        "relations with these columns stay" if nonconf else "no category is there to be related to"
    )
    return Line(None, at_the_top("masks", {mask: arguments}), why)


def _fits_nonconf(of: Figures) -> bool:
    """Whether masks take it: numbers without NULL, categories of which no level is a few rows' own."""
    return not of.has_nulls if of.column.is_numeric else not of.rare_levels


def _told(by: Told) -> str:
    """What is said of a number that others tell."""
    share = min(int(100 * by.share), 99)
    return (
        f"but the other columns, above all {quoted(by.most)}, tell {share} % of its variance: masked or not, who knows "
        "them knows it"
    )


def _rows_looked_at(spec: SuggestionSpec, found: Sequence[Figures]) -> str:
    rows = found[0].rows if found else 0
    if spec.whole is not None and rows < spec.whole:
        return f"by names, types and {rows:,} of about {spec.whole:,} rows"
    if spec.first and rows >= sample_size(len(found)):
        return f"by names, types and the first {rows:,} rows"
    return f"by names, types and all {rows:,} rows"
