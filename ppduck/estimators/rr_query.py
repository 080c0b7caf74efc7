"""rr_query(): what a query would have answered before randomization: unbiased, with standard error and range.

A published row with levels v stands for the combination u of levels with the weight W(u, v) = Π P_i⁻¹[u_i, v_i], whose
expectation is 1 for the true combination and 0 for all others. With w(v) = Σ_u f(u) W(u, v), f a count's condition,

    T = Σ_rows w(v),   var T = Σ_rows w(v)² - T                                             (target 'table')
                             = (Σ_rows w(v)² - T²/N) · N/(N - 1)                            (target 'population')

are unbiased for the count before randomization and for its variance: that of randomization alone, or that of drawing
the N rows too. (Guo 2010, equations 2.2 and 3.3; the same as rr_reconstruct sums up to.) A share is the quotient of two
such counts, its error by the delta method. Everything is summed by DuckDB, over the combinations that occur.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.catalogue.rehearsal import may_fail, rehearse
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import LEVELS, MATRIX, DesignCall, Matrix, P, Probability
from ppduck.errors import Faults
from ppduck.estimators import cells
from ppduck.estimators.question_reader import read_question
from ppduck.estimators.question_statement import QuestionStatement
from ppduck.estimators.question_table import NAME, CatalogNames, randomized_of, release_of
from ppduck.kernels.distortion import Spread, Target, half_width
from ppduck.query import tree as sql


@parameters
class RrQueryCall(DesignCall):
    query: str = parameter(
        arguments.words, "a SELECT over one randomized relation, of counts and shares"
    )
    p: Probability | None = P
    matrix: Mapping[str, Matrix] | None = MATRIX
    levels: Mapping[str, list[Any]] | None = LEVELS
    on_null: str | None = parameter(
        arguments.choice("keep", "level"),
        "beside p or matrix: whether NULL was published as it is, or randomized as a level; as it is by default, "
        "because rr_mask does so",
        None,  # a view says it in its definition, and nothing may be said beside it
    )
    confidence: float = cells.CONFIDENCE
    range: Spread = cells.RANGE
    target: Target = parameter(
        arguments.choice("table", "population"),
        "what is answered: the rows before randomization, or the population that they are a sample of; "
        "the rows by default, because that is what a query of a table counts",
        "table",
    )


def plan(catalog: Catalog, call: RrQueryCall) -> sql.Expr:
    question = read_question(Faults(NAME), call.query, CatalogNames(catalog))
    release = release_of(catalog, question, call.words, call.on_null)
    randomized = randomized_of(catalog, release, null_is_level=call.words.null_is_level)
    reach = half_width(call.confidence, call.range)
    statement = QuestionStatement(question, release, randomized, call.target, reach).tree()
    if may_fail(question.expressions):
        rehearse(catalog.reader, release.faults(), "query", sql.render(statement.copy()))
    return statement


FUNCTION = register(
    Function(
        NAME,
        RrQueryCall,
        plan,
        "What a SELECT of counts and shares would have answered before randomization, with errors and ranges.",
        "Guo (2010), sections 2.2 and 3.2.2; Chaudhuri & Mukerjee (1988), Randomized Response",
        kind=Kind.ESTIMATOR,
        results=(
            Result(
                "gender", "VARCHAR", "the columns and groups that the query names, as it names them"
            ),
            Result(
                "n",
                "DOUBLE",
                "a count or share of the query, as it was before randomization, by its name",
            ),
            Result("n_std_error", "DOUBLE", "its standard error"),
            Result("n_lower", "DOUBLE", "the lower end of its range"),
            Result("n_upper", "DOUBLE", "the upper end of it"),
        ),
        example=(
            "FROM rr_query('SELECT gender, count(*) AS n FROM survey_rr WHERE disease <> ''flu'' GROUP BY gender')"
        ),
    )
)
