"""The seeds that follow from a world's."""

import numpy as np
import pytest

from simulators.contract.seeds import as_sequence, child


def test_a_child_is_what_a_fresh_sequence_would_spawn_whatever_was_spawned_before():
    world = np.random.SeedSequence(7, spawn_key=(3,))
    expected = np.random.SeedSequence(7, spawn_key=(3,)).spawn(4)[3].generate_state(4)
    for _ in range(2):
        assert child(world, 3).generate_state(4).tolist() == expected.tolist()
        world.spawn(1)


def test_the_seed_of_a_world_is_a_sequence_or_a_whole_number():
    assert as_sequence(np.random.SeedSequence(5)).entropy == as_sequence(5).entropy == 5
    for wrong in (-1, 0.5, "1", None):
        with pytest.raises(ValueError, match="seed=.* must be a whole number >= 0"):
            as_sequence(wrong)
