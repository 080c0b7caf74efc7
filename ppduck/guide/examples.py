"""One statement for every function that does not bring its own yet, over the demo tables."""

from __future__ import annotations

from ppduck.call.registry import Function

EXAMPLES = {
    "egadp_mask": "CREATE TABLE release AS FROM egadp_mask('customers', conf=['x1','x2'], key='id')",
    "egadp_plain": (
        "FROM egadp_plain('customers', ['x1','x2'], secret := 'keep this to yourself', key := 'id', "
        "nonconf := ['s1','s2'])"
    ),
    "sufficiency_mask": "FROM sufficiency_mask('customers', conf=['x1','x2'], alpha={'x1': 0.6, 'x2': 0.5}, key='id')",
    "ipso_mask": "FROM ipso_mask('customers', conf=['x1','x2'], nonconf=['s1','s2','region'], key='id')",
    "gadp_mask": "FROM gadp_mask('customers', conf=['x1','x2'], key='id', drop=['region'])",
    "kim_mask": "FROM kim_mask('customers', conf=['x1','x2'], level=0.15, corrected=true, key='id')",
    "noise_mask": "FROM noise_mask('customers', conf=['x1','x2'], level={'x1': 0.2, 'x2': 0.1}, key='id')",
    "cgadp_mask": "FROM cgadp_mask('customers', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
    "shuffle_mask": "FROM shuffle_mask('customers', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
    "nm_egadp_mask": "FROM nm_egadp_mask('customers', conf=['x1'], nonconf=['s1'], variant=1, key='id')",
    "rank_swap_mask": "FROM rank_swap_mask('customers', conf=['x1','x2'], reach=14, key='id')",
    "microaggregate_mask": "FROM microaggregate_mask('customers', conf=['x1','x2'], k=20, key='id')",
    "onn_mask": "FROM onn_mask('customers', conf=['x1','x2'], partitions=4, key='id')",
    "anatomy_mask": (
        "FROM anatomy_mask('survey', qi=['gender','smoker'], sensitive='disease', l=2, part='qit', key='id')"
    ),
    "generalize_mask": (
        "FROM generalize_mask('survey', qi=['gender','smoker'], k=5, sensitive='disease', l=2, drop=['id'])"
    ),
    "security_index": "FROM security_index('customers', conf=['x1','x2'], nonconf=['s1','s2'])",
    "relationships": "FROM relationships('customers', conf=['x1','x2'], nonconf=['s1','s2'])",
    "recommend_mask": "FROM recommend_mask('customers', conf=['x1','x2'], nonconf=['s1','s2'])",
    "rr_mask": "CREATE VIEW published AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')",
    "pram_mask": "FROM pram_mask('survey', conf=['disease'], p=0.8, invariant=true, key='id')",
    "rr_reconstruct": "FROM rr_reconstruct('survey_rr', ['gender','disease'])",
    "rr_covariance": "FROM rr_covariance('survey_rr', ['gender','disease'])",
    "rr_association": "FROM rr_association('survey_rr', 'gender', 'disease')",
    "rr_query": "FROM rr_query('SELECT gender, count(*) AS n FROM survey_rr WHERE disease <> ''flu'' GROUP BY gender')",
    "rr_rules": "FROM rr_rules('baskets_rr', ['bread','butter','jam'], min_support=0.2, min_confidence=0.6)",
    "rr_rules_accuracy": (
        "FROM rr_rules_accuracy('baskets', 'baskets_rr', ['bread','butter','jam'], min_support=0.2, min_confidence=0.6)"
    ),
    "rr_conclusions": "FROM rr_conclusions('survey_rr', 'gender', 'disease')",
    "rr_classifier_check": "FROM rr_classifier_check('survey_rr', ['gender','smoker'], class='disease')",
    "independence_test": "FROM independence_test('survey_rr', 'gender', 'disease')",
    "loglinear_fit": "FROM loglinear_fit('survey_rr', ['gender','disease','smoker'], 'gender*disease, smoker')",
    "loglinear_models": "FROM loglinear_models('survey_rr', ['gender','disease','smoker'], reconstruct='mle')",
    "rr_privacy": "FROM rr_privacy(p={'gender': 0.9, 'disease': 0.8}, levels={'gender': 2, 'disease': 3})",
    "attribute_disclosure": (
        "FROM attribute_disclosure('survey', qi=['gender','smoker'], sensitive='disease', p={'gender': 0.9})"
    ),
    "rr_optimize": "FROM rr_optimize('survey', qi=['gender','smoker'], sensitive='disease', l=2)",
    "association_measures": "FROM association_measures('survey', 'gender', 'smoker')",
    "chi2_independence": "FROM chi2_independence('survey', ['gender','disease','smoker'])",
    "k_anonymity": "FROM k_anonymity('survey', ['gender','smoker'], k := 5)",
    "l_diversity": "FROM l_diversity('survey', ['gender','smoker'], 'disease', l := 2)",
    "t_closeness": "FROM t_closeness('survey', ['gender','smoker'], 'disease')",
    "canonical_security": (
        "FROM canonical_security('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')"
    ),
    "mse_security": "FROM mse_security('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
    "value_disclosure": (
        "FROM value_disclosure('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')"
    ),
    "unchanged_values": "FROM unchanged_values('customers', 'released', conf=['x1','x2'], key='id')",
    "record_linkage": "FROM record_linkage('customers', 'released', conf=['x1','x2'], key='id')",
    "interval_disclosure": (
        "FROM interval_disclosure('customers', 'released', conf=['x1','x2'], key='id', percents=[5, 10])"
    ),
    "averaging_attack": "FROM averaging_attack('customers', 'released', conf=['x1','x2'], key='id', reads=3)",
    "information_loss": "FROM information_loss('customers', 'released', conf=['x1','x2'], key='id')",
    "protection_score": "FROM protection_score('customers', 'released', conf=['x1','x2'], key='id')",
    "equivalence_test": "FROM equivalence_test('customers', 'released', y='x2', x=['x1','s1'], key='id')",
    "utility_check": "FROM utility_check('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
    "release_check": ("FROM release_check('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')"),
    "assert_release": ("FROM assert_release('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')"),
    "moments_check": "FROM moments_check('customers', 'released', conf=['x1','x2','s1','s2'])",
    "mask_explain": "FROM mask_explain('egadp_mask', 'customers', conf=['x1','x2'])",
    "ppduck_help": "FROM ppduck_help('egadp_mask')",
    "ppduck_functions": "FROM ppduck_functions()",
}


def example_of(function: Function) -> str:
    return function.example or EXAMPLES.get(function.name, "")
