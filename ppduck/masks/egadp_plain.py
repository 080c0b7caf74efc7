"""egadp_plain(): EGADP of a handful of columns without Python; a plain macro of ``sql/ppduck.sql``.

As egadp_mask, with the Cholesky factor of the covariance where that takes symmetric roots, and with noise from SHA-256.
"""

from __future__ import annotations

from ppduck.call import arguments
from ppduck.call.parameters import Parameter, Reader
from ppduck.call.plain_macros import plain_macro
from ppduck.masks import egadp
from ppduck.masks._promises import (
    CURVES,
    EXACT_WITHOUT_NULL,
    EXTREMES_REFUSED,
    MANY_RELEASES,
    NO_GAIN,
    ORDER,
    REPEATED,
    SHAPE,
    SMALL,
    UNUSED_WITHOUT_STRATA,
)

MACRO = plain_macro(
    "egadp_plain",
    (
        arguments.TBL,
        Parameter("conf", arguments.columns, "the numeric columns to mask, one to five"),
        Parameter(
            "secret",
            Reader("a text of 16 characters or more", arguments.words),
            "what keys the noise; it stands in the query's text unless getvariable() or, in "
            "DuckDB's shell, getenv() brings it",
        ),
        Parameter(
            "key", arguments.columns, "the columns that identify a row, each once; 'rowid' numbers the rows of a table"
        ),
        Parameter(
            "nonconf", arguments.columns, "the numeric columns whose relation to conf is kept, up to five", "NULL"
        ),
    ),
    "egadp_mask for up to five columns and five in nonconf, in any DuckDB shell; noise from SHA-256; plain SQL.",
    egadp.MASK.reference,
    keeps=EXACT_WITHOUT_NULL + NO_GAIN,
    loses=(
        SHAPE,
        CURVES,
        UNUSED_WITHOUT_STRATA,
        EXTREMES_REFUSED,
        SMALL,
        REPEATED,
        MANY_RELEASES,
        ORDER,
    ),
)
