"""The JSON schema of a policy, for editors that complete and check while one types; made of what reads policies."""

from __future__ import annotations

from typing import Any

from ppduck.call.parameters import ColumnNames, Parameter
from ppduck.policy.model import Treatment
from ppduck.policy.reading import BESIDE, ELSEWHERE, OF_RANDOMIZE, SHIFT, WORDS, maskings

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NAMES: dict[str, Any] = {
    "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
}
_TEXT: dict[str, Any] = {"type": "string"}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 1}
_HOW: dict[Treatment, dict[str, Any]] = {
    Treatment.PSEUDONYM: {
        "type": ["string", "object"],
        "description": "token, uuid, integer, email, digits or hash",
    },
    Treatment.DATE: {
        "type": ["string", "object"],
        "description": f"{SHIFT}, year, quarter, month, or {{age: 5, …}}",
    },
    Treatment.RECODE: {
        "type": "object",
        "description": "width, breaks, top, bottom, keep, rare_below, …",
    },
    Treatment.RANDOMIZE: {
        "description": "the probability to keep a value, a matrix, or a mapping",
        "oneOf": [
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            {
                "type": "object",
                "properties": {name: {} for name in OF_RANDOMIZE},
                "additionalProperties": False,
            },
        ],
    },
    Treatment.MASK: {"type": "string", "description": "a mask of numbers, or a name under masks"},
}


def schema() -> dict[str, Any]:
    """The schema as a value."""
    return {
        "$schema": DRAFT,
        "title": "A release policy of ppduck",
        "type": "object",
        "required": ["columns"],
        "additionalProperties": False,
        "properties": {
            "from": _TEXT | {"description": "the table to release"},
            "key": _NAMES | {"description": "the columns that identify a row"},
            "domain": _TEXT | {"description": "within which equal values have equal pseudonyms"},
            "columns": {
                "description": "every column of the table, and what becomes of it",
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {
                    "oneOf": [{"enum": list(WORDS)}, *map(_treatment, BESIDE)]
                },
            },
            "masks": {
                "description": "the arguments of masks; under another name, mask says which",
                "type": "object",
                "properties": {name: _mask(name) for name in sorted(maskings())},
                "additionalProperties": {"type": "object", "required": ["mask"]},
            },
            "limits": {
                "description": "rules of the gate and their limits; null for one that is not asked",
                "type": "object",
                "additionalProperties": {"type": ["number", "string", "null"]},
            },
            "qi": _NAMES | {"description": "what an intruder may know of a person"},
            "batch": _TEXT
            | {"description": "the column by whose values batches are released, once each"},
            "smallest_batch": _COUNT | {"description": "a batch with fewer rows waits"},
        },
    }


def _treatment(treatment: Treatment) -> dict[str, Any]:
    beside: dict[str, Any] = {name: {} for name in BESIDE[treatment]}
    return {
        "type": "object",
        "properties": {treatment.value: _HOW[treatment], **beside},
        "required": [treatment.value],
        "additionalProperties": False,
    }


def _mask(name: str) -> dict[str, Any]:
    own = [each for each in maskings()[name].parameters if each.name not in ELSEWHERE]
    return {
        "type": ["object", "null"],
        "properties": {"mask": {"enum": sorted(maskings())}}
        | {each.name: _parameter(each) for each in own},
        "additionalProperties": False,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    found: dict[str, Any] = {"description": parameter.doc}
    if parameter.options:
        found["enum"] = list(parameter.options)
    elif parameter.columns is ColumnNames.LISTED:
        found |= _NAMES
    return found
