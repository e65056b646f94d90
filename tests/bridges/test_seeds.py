"""Every purpose of every trial draws from a stream of its own, whatever else was drawn."""

from itertools import product

import numpy as np

from bridges import as_int, seed_sequence
from bridges.seeds import child

PURPOSES = ("world", "noise", "design", "agent", "samples", "optimum", "held-out")


def test_trials_purposes_and_positions_have_streams_of_their_own():
    keys = [(3, trial, purpose, i) for trial, purpose, i in product(range(4), PURPOSES, range(3))]
    keys += [(4, 0, purpose, 0) for purpose in PURPOSES]
    states = {tuple(seed_sequence(*key).generate_state(4)) for key in keys}
    assert len(states) == len(keys)
    assert (
        len({tuple(seed_sequence(3, 1, purpose).generate_state(4)) for purpose in PURPOSES} | states)
        == len(keys) + 7
    )


def test_a_stream_is_numpys_for_its_trial_and_the_place_of_its_purpose():
    for i, purpose in enumerate(PURPOSES):
        expected = np.random.SeedSequence(5, spawn_key=(2, i, 9))
        assert (seed_sequence(5, 2, purpose, 9).generate_state(3) == expected.generate_state(3)).all()
        assert as_int(expected) == expected.generate_state(1)[0] < 2**32


def test_a_child_does_not_depend_on_what_was_spawned_before():
    parent = seed_sequence(5, 2, "noise")
    first = child(parent, 7).generate_state(2)
    parent.spawn(3)
    assert (child(parent, 7).generate_state(2) == first).all()
    assert (first == seed_sequence(5, 2, "noise", 7).generate_state(2)).all()
    assert (
        child(5, 7).generate_state(2) == np.random.SeedSequence(5, spawn_key=(7,)).generate_state(2)
    ).all()
