"""Randomized response: categories published at random, and what can be known from them, one file a function."""

from ppduck.randomized import (
    anonymity,
    association_measures,
    attribute_disclosure,
    counting,
    independence_test,
    loglinear_fit,
    loglinear_models,
    mechanism,
    pram_mask,
    rr_association,
    rr_classifier_check,
    rr_conclusions,
    rr_covariance,
    rr_mask,
    rr_optimize,
    rr_privacy,
    rr_query,
    rr_reconstruct,
    rr_rules,
    rr_rules_accuracy,
)

_SOLVERS = (
    attribute_disclosure,
    independence_test,
    loglinear_fit,
    loglinear_models,
    rr_association,
    rr_classifier_check,
    rr_conclusions,
    rr_covariance,
    rr_optimize,
    rr_reconstruct,
    rr_rules,
    rr_rules_accuracy,
)
# What DuckDB is taught to call: name, function, types of arguments, type of the result.
UDFS = [
    (mechanism.CHECK, mechanism.check, *mechanism.CHECK_TYPES),
    (counting.CHECK, counting.check, *counting.CHECK_TYPES),
    *((module.SOLVE, module.solve, *module.SOLVE_TYPES) for module in _SOLVERS),
]

__all__ = [
    "UDFS",
    "anonymity",
    "association_measures",
    "mechanism",
    "pram_mask",
    "rr_mask",
    "rr_privacy",
    "rr_query",
]
