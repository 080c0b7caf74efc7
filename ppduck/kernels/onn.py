"""Ordered Neural Networks: every value becomes what a network makes of it that could not quite learn it.

All values of all columns stand in one vector, sorted, which is cut into P partitions of k values. Each is scaled to
±B_in for input, where f(x) = 1/(1 + exp(-c·x)) reaches (1 ± B)/2, and to that range as target. Network m, of P inputs
that apply f, H hidden neurons and one output, learns the n-th value of partition m from the n-th values of all
partitions by back-propagation; its outputs, scaled back, are the masked values. (004; Pont-Tuset et al. 2007.)

The pages on sorting and on the training are missing from the source. Read so as to come nearest to its scores: values
stand from the largest down, patterns are shown one by one in that order, and a network is done once, after an epoch,
the root mean square of its error is at most 0.22 of the targets' range (values evenly spread leave a constant 0.29),
or after 100 epochs. Shown in a random order a network learns its own input within one epoch, and nothing is masked;
shown in order, it knows the smallest values best and errs towards them, which is where the published scores are found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.interrupts import check_interrupt
from ppduck.kernels.noise import KeyedNoise
from ppduck.values import Array

ENOUGH = 0.22  # root mean square of the error, as a share of the targets' range
EPOCHS = 100
WEIGHTS = 0.5  # weights begin between minus and plus this


@frozen
class Design:
    """P, B, η, c and H of the paper."""

    partitions: int = 8
    b: float = 0.8
    eta: float = 0.4
    c: float = 4.0
    hidden: int = 8


def masked(values: Array, design: Design, noise: KeyedNoise) -> Array:
    """The masked vector; partitions differ by one value in size where P does not divide their number."""
    order = np.argsort(-values, kind="stable")
    sizes = np.diff(np.linspace(0, len(values), design.partitions + 1).round().astype(int))
    starts, within = np.cumsum(sizes) - sizes, np.arange(sizes.max())
    # A partition that is one short shows its last value again, and is not taught by it.
    real = within < sizes[:, None]
    place = order[starts[:, None] + np.minimum(within, sizes[:, None] - 1)]

    v = values[place]
    low, high = v.min(axis=1, keepdims=True), v.max(axis=1, keepdims=True)
    constant = high == low
    spread = np.where(constant, 1.0, high - low)
    share = np.where(constant, 0.5, (v - low) / spread)
    first = (1 - design.b) / 2
    target = first + design.b * share
    # An input neuron puts out f of ±B_in, and f(B_in) is the end of the targets' range.
    b_in = np.log((1 + design.b) / (1 - design.b)) / design.c
    shown = sigmoid(design.c * b_in * (2 * share - 1))

    networks = _Networks.at_random(design, noise)
    networks.train(shown, target, real)
    outputs = networks.outputs(shown)
    found = np.where(constant, (outputs + 0.5) * v, low + (outputs - first) * spread / design.b)
    result = np.empty_like(values)
    result[place[real]] = found[real]
    return result


def sigmoid(x: Array) -> Array:
    with np.errstate(over="ignore"):  # exp overflows to infinity, and the result is 0
        return np.asarray(1 / (1 + np.exp(-x)))


@dataclass
class _Networks:
    """One network a partition, side by side: weights (P, H, P) and (P, H), without biases."""

    design: Design
    into_hidden: Array
    into_output: Array

    @classmethod
    def at_random(cls, design: Design, noise: KeyedNoise) -> _Networks:
        p, h = design.partitions, design.hidden
        count = p * h * (p + 1)
        keys = np.arange((count + 1) // 2, dtype=np.uint64)
        words = noise.words(keys, np.zeros(len(keys), dtype=np.uint64), 1)[:count]
        weights = WEIGHTS * (2 * ((words >> np.uint64(11)) * 2.0**-53) - 1)
        first, second = (np.asarray(part, dtype=float) for part in np.split(weights, [p * h * p]))
        return cls(design, first.reshape(p, h, p), second.reshape(p, h))

    def outputs(self, shown: Array, which: npt.NDArray[np.intp] | None = None) -> Array:
        """What the networks, or some of them, make of every pattern."""
        c = self.design.c
        every = range(len(self.into_hidden)) if which is None else which
        return np.stack(
            [
                sigmoid(c * (self.into_output[m] @ sigmoid(c * (self.into_hidden[m] @ shown))))
                for m in every
            ]
        )

    def train(self, shown: Array, target: Array, real: npt.NDArray[np.bool_]) -> None:
        """Back-propagation, pattern by pattern; networks that are done drop out."""
        enough = (ENOUGH * self.design.b) ** 2
        active = np.arange(len(target))
        for _ in range(EPOCHS):
            self._epoch(active, shown.T, target[active].T, real[active].T)
            error = (self.outputs(shown, active) - target[active]) ** 2 * real[active]
            active = active[error.sum(axis=1) / real[active].sum(axis=1) > enough]
            if not len(active):
                break

    def _epoch(
        self, active: npt.NDArray[np.intp], shown: Array, target: Array, real: npt.NDArray[np.bool_]
    ) -> None:
        c, rate = self.design.c, self.design.eta * self.design.c
        into_hidden, into_output = self.into_hidden[active], self.into_output[active]
        patterns = zip(
            np.ascontiguousarray(shown), np.ascontiguousarray(target), rate * real, strict=True
        )
        for inputs, wanted, steps in patterns:
            check_interrupt()
            hidden = sigmoid(c * (into_hidden @ inputs))
            output = sigmoid(c * (into_output * hidden).sum(axis=1))
            # η·c is in both layers' steps, since f' = c·f·(1 - f); the hidden layer's has c once more.
            delta = (steps * (wanted - output) * output * (1 - output))[:, None]
            back = c * delta * into_output * hidden * (1 - hidden)
            into_output += delta * hidden
            into_hidden += back[:, :, None] * inputs
        self.into_hidden[active], self.into_output[active] = into_hidden, into_output
