"""The contact network against dense matrices and networkx, and the choice of pairs against its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.population.network import ContactNetwork, pairs, symmetric
from simulators.population.pairs import choose, count, fill, key, within

GROUPS = ("young", "old")


def layer(N, first, second):
    return symmetric(N, key(np.array(first), np.array(second), N))


@pytest.fixture(scope="module")
def small():
    """Five persons: 0, 1 young, 2, 3, 4 old; a household of 0, 1, 2 and a team of 2, 3."""
    layers = {"household": layer(5, [1, 0, 2], [0, 2, 1]), "work": layer(5, [3, 1], [2, 2])}
    return ContactNetwork(layers, {"household": 1.0, "work": 0.5}, np.array([0, 0, 1, 1, 1]), GROUPS)


@st.composite
def pair_sets(draw):
    N = draw(st.integers(1, 12))
    edges = [(a, b) for a in range(N) for b in range(a)]
    chosen = draw(st.lists(st.sampled_from(edges), unique=True)) if edges else []
    return N, np.array(chosen, dtype=np.int64).reshape(-1, 2)


@given(pair_sets())
def test_a_layer_is_the_symmetric_matrix_of_its_pairs(given_pairs):
    N, ends = given_pairs
    matrix = layer(N, ends[:, 0], ends[:, 1])
    dense = np.zeros((N, N), dtype=int)
    for a, b in ends:
        dense[a, b] += 1
        dense[b, a] += 1
    assert np.array_equal(matrix.toarray(), dense)
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32 and matrix.dtype == np.int8
    assert all(np.all(np.diff(row) > 0) for row in np.split(matrix.indices, matrix.indptr[1:-1]))
    low, high = pairs(matrix)
    found = {*zip(low.tolist(), high.tolist(), strict=True)}
    assert found == {(min(a, b), max(a, b)) for a, b in ends.tolist()}
    assert len(low) == len(ends)


def test_contacts_are_means_over_the_persons_of_a_group(small):
    assert small.contacts("household").tolist() == [[1, 1], [2 / 3, 0]]
    assert small.contacts("work").tolist() == [[0, 0.5], [1 / 3, 2 / 3]]
    assert small.contact_matrix() == pytest.approx(np.array([[1, 1.25], [2 / 3 + 1 / 6, 1 / 3]]))
    assert small.degrees().tolist() == [2, 3, 4, 1, 0]


def test_a_group_with_nobody_has_no_contacts():
    network = ContactNetwork({"work": layer(2, [0], [1])}, {"work": 1.0}, np.array([1, 1]), GROUPS)
    assert network.contacts("work").tolist() == [[0, 0], [0, 1]]


def test_the_graph_has_the_pairs_with_their_layers_and_weights(small):
    graph = small.to_networkx()
    assert sorted(graph.nodes) == [0, 1, 2, 3, 4]
    assert graph.nodes[0]["group"] == "young" and graph.nodes[4]["group"] == "old"
    assert {frozenset(edge) for edge in graph.edges} == {
        frozenset(e) for e in [(0, 1), (0, 2), (1, 2), (2, 3)]
    }
    assert graph[1][2] == {"layers": ("household", "work"), "weight": 1.5}
    assert graph[2][3] == {"layers": ("work",), "weight": 0.5}


def test_a_city_is_not_turned_into_a_graph(small):
    many = ContactNetwork({}, {}, np.zeros(20_001, dtype=np.int8), GROUPS)
    with pytest.raises(ValueError, match=r"^a graph of 20,001 persons is too large .*20,000") as error:
        many.to_networkx()
    assert "\n" not in str(error.value)
    assert len(many.to_networkx(largest=20_001)) == 20_001
    with pytest.raises(ValueError, match="at most 4"):
        small.to_networkx(largest=4)


def test_a_network_of_which_nothing_was_asked_has_no_table(small):
    with pytest.raises(ValueError, match="nothing was asked"):
        small.achieved()


def test_all_pairs_of_a_venue_are_found_once():
    members, venue = np.array([7, 3, 5, 0, 1, 9]), np.array([0, 0, 0, 1, 2, 2])
    found = sorted(divmod(k, 10) for k in within(members, venue, 10).tolist())
    assert found == [(1, 9), (3, 5), (3, 7), (5, 7)]
    assert len(within(members[:0], venue[:0], 10)) == 0


@st.composite
def towns(draw):
    N, K = draw(st.integers(1, 30)), 3
    group = np.array(draw(st.lists(st.integers(0, K - 1), min_size=N, max_size=N)), dtype=np.int8)
    edges = np.triu(np.array(draw(st.lists(st.integers(0, 40), min_size=9, max_size=9))).reshape(K, K))
    return N, group, edges, draw(st.integers(0, 2**32 - 1))


@given(towns())
def test_pairs_are_as_many_as_asked_or_as_there_can_be(town):
    N, group, edges, seed = town
    rng = np.random.default_rng(seed)
    persons = np.arange(N)
    half = persons[: N // 2]
    there = choose(within(half, np.zeros(len(half)), N), edges // 2, group, N, rng)
    added = fill(there, edges, persons, group, N, rng)
    keys = np.concatenate((there, added))
    assert len(np.unique(keys)) == len(keys)
    assert np.all(keys // N < keys % N)
    sizes = np.bincount(group, minlength=3)
    possible = np.triu(np.outer(sizes, sizes)) - np.diag(sizes * (sizes + 1) // 2)
    assert np.array_equal(count(keys, group, 3, N), np.minimum(edges, possible))
    few = np.bincount(group[half], minlength=3)
    among_half = np.triu(np.outer(few, few)) - np.diag(few * (few + 1) // 2)
    assert np.array_equal(count(there, group, 3, N), np.minimum(edges // 2, among_half))


def test_random_pairs_are_uniform():
    group, rng = np.array([0, 0, 0, 1, 1, 1], dtype=np.int8), np.random.default_rng(3)
    edges, none = np.array([[1, 0], [0, 0]]), np.empty(0, dtype=np.int64)
    drawn = np.concatenate([fill(none, edges, np.arange(6), group, 6, rng) for _ in range(3000)])
    shares = np.bincount(drawn, minlength=36) / 3000
    assert shares[[1, 2, 8]] == pytest.approx([1 / 3] * 3, abs=0.035)  # four standard deviations
