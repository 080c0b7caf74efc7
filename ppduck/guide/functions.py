"""ppduck_functions(): the catalogue of what ppduck adds to SQL."""

from __future__ import annotations

from ppduck.call.parameters import Call, parameters
from ppduck.call.registry import Function, Kind, Result, functions, register
from ppduck.catalogue.tables import Catalog
from ppduck.query import tree as sql
from ppduck.query.text_rows import text_rows

RESULTS = (
    Result("name", "VARCHAR", "the function"),
    Result("signature", "VARCHAR", "how it is called, with its defaults"),
    Result("description", "VARCHAR", "what it does"),
    Result("reference", "VARCHAR", "where the method comes from"),
    Result("kind", "VARCHAR", "mask, estimator, measure, check or help"),
)


@parameters
class FunctionsCall(Call):
    """A call without arguments."""


def plan(catalog: Catalog, call: FunctionsCall) -> sql.Expr:
    rows = [(f.name, f.signature, f.summary, f.reference, f.kind.value) for f in functions()]
    return text_rows([each.name for each in RESULTS], rows)


FUNCTION = register(
    Function(
        "ppduck_functions",
        FunctionsCall,
        plan,
        "This catalogue: every function that ppduck adds.",
        "",
        kind=Kind.HELP,
        results=RESULTS,
        example="FROM ppduck_functions()",
    )
)
