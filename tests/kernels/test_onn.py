"""The networks of ONN: what they are shown, what they learn, and that training is back-propagation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels import onn
from ppduck.kernels.noise import KeyedNoise
from ppduck.kernels.onn import Design, _Networks, masked, sigmoid

NOISE = KeyedNoise(b"secret")


def test_a_step_goes_down_the_gradient() -> None:
    """One pattern, one network: the weights change by -eta times the derivative of half the squared error."""
    design = Design(partitions=3, hidden=2, eta=0.05, c=2.0)
    before = _Networks.at_random(design, NOISE)
    after = _Networks.at_random(design, NOISE)
    shown, target = np.array([[0.3], [0.6], [0.8]]), np.array([[0.2], [0.5], [0.7]])
    after._epoch(np.arange(3), shown.T, target.T, np.ones((1, 3), dtype=bool))

    def error(networks: _Networks, m: int) -> float:
        return 0.5 * float((networks.outputs(shown)[m, 0] - target[m, 0]) ** 2)

    for m in range(3):
        for weights, moved in ((before.into_hidden, after.into_hidden), (before.into_output, after.into_output)):
            for place in np.ndindex(weights[m].shape):
                kept, step = weights[m][place], 1e-6
                weights[m][place] = kept + step
                above = error(before, m)
                weights[m][place] = kept - step
                slope = (above - error(before, m)) / (2 * step)
                weights[m][place] = kept
                assert moved[m][place] - kept == pytest.approx(-design.eta * slope, abs=1e-9)


def test_training_stops_when_the_error_is_small_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).lognormal(size=800)
    design = Design(partitions=4)
    epochs = []
    plain = _Networks._epoch

    def counted(self: _Networks, *told: np.ndarray) -> None:
        epochs.append(len(told[0]))
        plain(self, *told)

    monkeypatch.setattr(_Networks, "_epoch", counted)
    masked(values, design, NOISE)
    assert epochs[0] == 4
    assert epochs == sorted(epochs, reverse=True), "networks that are done drop out"
    monkeypatch.setattr(onn, "ENOUGH", 0.0)
    monkeypatch.setattr(onn, "EPOCHS", 7)
    epochs.clear()
    masked(values, design, NOISE)
    assert epochs == [4] * 7


def test_in_a_random_order_the_networks_would_learn_what_they_are_to_hide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why values are shown in order: the error within parts is several times larger."""
    values = np.random.default_rng(2).uniform(size=2000)
    design = Design(partitions=4)
    in_order = np.abs(masked(values, design, NOISE) - values).mean()
    plain = _Networks._epoch

    def shuffled(self: _Networks, active: np.ndarray, *told: np.ndarray) -> None:
        order = np.random.default_rng(1).permutation(len(told[0]))
        plain(self, active, *(each[order] for each in told))

    monkeypatch.setattr(_Networks, "_epoch", shuffled)
    assert np.abs(masked(values, design, NOISE) - values).mean() < in_order / 3


@given(seed=st.integers(0, 1000), n=st.integers(1, 200), partitions=st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_every_value_is_masked_within_reach_of_its_partition(seed: int, n: int, partitions: int) -> None:
    partitions = min(partitions, n)
    values = np.random.default_rng(seed).normal(size=n) * 100
    found = masked(values, Design(partitions=partitions, hidden=3), KeyedNoise(str(seed).encode()))
    assert found.shape == values.shape
    assert np.isfinite(found).all()
    b = 0.8
    for part in np.split(
        np.argsort(-values, kind="stable"), np.linspace(0, n, partitions + 1).round().astype(int)[1:-1]
    ):
        low, high = values[part].min(), values[part].max()
        if high > low:  # outputs are between 0 and 1, and the targets' range is b of that
            beyond = (1 - b) / (2 * b) * (high - low) + 1e-9
            assert (found[part] >= low - beyond).all()
            assert (found[part] <= high + beyond).all()
        else:
            assert (np.abs(found[part] - values[part]) <= 0.5 * np.abs(values[part]) + 1e-12).all()


def test_the_sigmoid_neither_overflows_nor_is_off() -> None:
    assert sigmoid(np.array([-1e6, 0.0, 1e6])).tolist() == [0.0, 0.5, 1.0]
