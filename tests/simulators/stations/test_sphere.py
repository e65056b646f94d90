"""Points on the sphere: distances against the haversine formula, kernels against their eigenvalues."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic
from sklearn.metrics.pairwise import haversine_distances

from simulators.stations.sphere import EARTH_RADIUS, arc_of_chord, points_on_sphere

longitudes, latitudes = st.floats(-540, 540), st.floats(-90, 90)


def places(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-180, 180, n), np.degrees(np.arcsin(rng.uniform(-1, 1, n)))


def chord_of_arc(arc):
    """What a length scale of so many km along the ground is on the points."""
    return 2 * EARTH_RADIUS * np.sin(arc / (2 * EARTH_RADIUS))


def test_poles_and_axes_are_where_geography_says():
    R = EARTH_RADIUS
    corners = points_on_sphere([0.0, 90.0, 123.0, 180.0], [0.0, 0.0, 90.0, 0.0])
    assert np.abs(corners - [[R, 0, 0], [0, R, 0], [0, 0, R], [-R, 0, 0]]).max() < 1e-9


@given(longitudes, latitudes)
def test_every_place_is_one_radius_from_the_centre_and_has_one_point_whatever_the_turn(lon, lat):
    point = points_on_sphere(lon, lat)
    assert np.linalg.norm(point) == pytest.approx(EARTH_RADIUS, rel=1e-14)
    assert np.abs(point - points_on_sphere(lon + 360.0, lat)).max() < 1e-8


def test_chords_turned_into_arcs_are_great_circle_distances():
    lon, lat = places(60)
    radians = np.radians(np.stack([lat, lon], axis=1))
    expected = EARTH_RADIUS * haversine_distances(radians)
    chords = cdist(points_on_sphere(lon, lat), points_on_sphere(lon, lat))
    assert np.abs(arc_of_chord(chords) - expected).max() < 1e-3
    assert np.abs(chord_of_arc(expected) - chords).max() < 1e-6


def test_the_antimeridian_is_no_border():
    across = points_on_sphere([179.5, -179.5], [10.0, 10.0])
    inside = points_on_sphere([20.0, 21.0], [10.0, 10.0])
    assert np.linalg.norm(np.diff(across, axis=0)) == pytest.approx(np.linalg.norm(np.diff(inside, axis=0)))


@given(st.floats(1e-9, np.pi * EARTH_RADIUS))
def test_a_chord_is_never_longer_than_its_arc_and_gives_it_back(arc):
    chord = chord_of_arc(arc)
    assert chord <= arc * (1 + 1e-12)
    assert arc_of_chord(chord) == pytest.approx(arc, rel=1e-6, abs=1e-9)


def test_the_chord_is_shorter_than_the_arc_by_four_thousandths_at_2000_km():
    assert 1 - chord_of_arc(2000.0) / 2000.0 == pytest.approx(0.0041, abs=1e-4)
    assert chord_of_arc(np.pi * EARTH_RADIUS) == pytest.approx(2 * EARTH_RADIUS)


@pytest.mark.parametrize(
    "kernel", [RBF(12000.0), Matern(12000.0, nu=1.5), RationalQuadratic(12000.0, 1.0)], ids=str
)
def test_kernels_are_positive_definite_on_the_points(kernel):
    assert np.linalg.eigvalsh(kernel(points_on_sphere(*places(200)))).min() > -1e-9


def test_a_squared_exponential_of_great_circle_distances_is_not_positive_definite():
    lon, lat = places(200)
    arcs = EARTH_RADIUS * haversine_distances(np.radians(np.stack([lat, lon], axis=1)))
    assert np.linalg.eigvalsh(np.exp(-0.5 * (arcs / 12000.0) ** 2)).min() < -0.1


def test_shapes_broadcast():
    assert points_on_sphere(0.0, 0.0).shape == (3,)
    assert points_on_sphere(np.zeros((4, 1)), np.zeros(5)).shape == (4, 5, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: points_on_sphere([0.0, 0.0], [10.0, 90.5]), r"latitude 90\.5 must be within -90\.\.90"),
        (lambda: points_on_sphere(0.0, np.nan), "latitude nan"),
        (lambda: points_on_sphere(np.inf, 0.0), "longitude inf must be a finite"),
        (lambda: arc_of_chord(12743.0), r"within 0\.\.12742 km"),
    ],
)
def test_what_is_not_on_the_globe_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
