"""Elevation, coast and calm as options of the network: by places and moments that are known."""

import numpy as np
import pytest

from simulators import make
from simulators.stations import Stations
from simulators.stations.coast import coast_distance
from simulators.weather.calm import Calm


def stations(n=40, elevation=None, wind=None):
    rng = np.random.default_rng(0)
    names = np.array([f"s{i}" for i in range(n)])
    time = np.full(n, "NaT", dtype="datetime64[s]")
    lon, lat = rng.uniform(-110, -90, n), rng.uniform(35, 45, n)
    wind = rng.uniform(1, 9, n) if wind is None else wind
    heights = rng.uniform(0, 3000, n) if elevation is None else elevation
    return Stations(
        names, names, lon, lat, time, rng.uniform(280, 290, n), rng.uniform(20, 90, n), wind, heights
    )


def network(**options):
    return make("weather", data=stations(), quality="off", **options)


def test_the_sea_is_as_far_as_the_map_says():
    # The sea nearest to Denver is the Gulf of California at 31.21 N, 113.08 W: 1,198 km by the haversine.
    # Lakes are no sea: Chicago is far from it.
    lon, lat = np.array([-104.99, -122.51, -80.13, -87.62]), np.array([39.74, 37.76, 25.79, 41.88])
    denver, san_francisco, miami_beach, chicago = coast_distance(lon, lat)
    assert denver == pytest.approx(1198, abs=6) and chicago > 900
    assert san_francisco < 5 and miami_beach < 5


def test_kernels_see_the_elevation_in_km_and_the_logarithm_of_the_distance_to_the_sea():
    plain, more = network(), network(features=["elevation", "coast"])
    rows = np.arange(plain.policy_space.size)
    seen, nodes = more.policy_space.embed(rows), more.nodes
    np.testing.assert_array_equal(seen[:, :3], plain.policy_space.embed(rows))
    np.testing.assert_allclose(seen[:, 3], more.stations.elevation[nodes] / 1000)
    away = coast_distance(more.stations.lon[nodes], more.stations.lat[nodes])
    np.testing.assert_allclose(np.expm1(seen[:, 4]) * 30, away)
    assert more.set_aside[0].shape[1] == 5


@pytest.mark.parametrize(
    ("features", "shape"),
    [("sphere", 3), (["sphere", "coast"], 4), (["degrees", "elevation"], 3), (["graph"], 1)],
)
def test_places_can_be_seen_in_each_way(features, shape):
    assert network(features=features).policy_space.embed(np.arange(2)).shape == (2, shape)


@pytest.mark.parametrize(
    "features",
    ["hills", ["elevation", "hills"], ["graph", "coast"], ["sphere", "degrees"], ["coast", "coast"]],
)
def test_features_that_are_not_there_are_refused_by_name(features):
    with pytest.raises(ValueError, match="features="):
        network(features=features)


def test_stations_without_an_elevation_are_told():
    heights = np.full(40, 100.0)
    heights[[3, 7]] = np.nan
    with pytest.raises(ValueError, match=r"2 of 40 stations tell none \(s3, s7\)"):
        make("weather", data=stations(elevation=heights), quality="off", features=["elevation"])


def test_a_table_tells_elevations_and_impossible_ones_are_unknown(tmp_path):
    path = tmp_path / "hills.csv"
    path.write_text(
        "id,x,y,t,rh,w,z\na,-100,40,10,50,3,999\nb,-101,40,11,50,3,-9999\nc,-102,41,12,50,3,\nd,-103,41,12,50,3,3281\n"
    )
    columns = {
        "id": "id",
        "lon": "x",
        "lat": "y",
        "temperature": "t",
        "humidity": "rh",
        "wind": "w",
        "elevation": "z",
    }
    units = {"temperature": "degC", "humidity": "percent", "wind": "m/s"}
    for unit, times in (("m", 1.0), ("ft", 0.3048)):
        world = make("weather", data=path, columns=columns, units=units | {"elevation": unit}, quality="off")
        found = world.stations.elevation
        np.testing.assert_allclose(found, np.array([999, np.nan, np.nan, 3281]) * times)


def test_a_calm_is_the_part_of_a_normal_below_zero():
    latent = np.random.default_rng(1).normal(2.0, 3.0, 400_000)
    calm = Calm.of(np.maximum(latent, 0.0))
    assert calm.value == pytest.approx(latent[latent < 0].mean(), rel=0.02)
    assert calm.variance == pytest.approx(latent[latent < 0].var(), rel=0.03)


def test_where_none_is_calm_or_all_are_a_calm_is_zero():
    assert Calm.of(np.array([1.0, 2.0])) == (0.0, 0.0) == Calm.of(np.zeros(3))


def test_a_calm_sensor_tells_a_latent_wind_with_its_variance_and_feels_none():
    wind = np.where(np.arange(40) % 3 == 0, 0.0, 4.0)
    world = make("weather", data=stations(wind=wind), quality="off", calm="latent", set_aside_share=0.5)
    calm, winds = Calm.of(wind), world.stations.wind[world.nodes]
    row = int(np.flatnonzero(winds == 0)[0])
    world.reset(0)
    told = np.array([world.step(row).values[2] for _ in range(200)])
    assert told.mean() == pytest.approx(calm.value, abs=0.03)
    assert world.step(row).noise_variance[2] == pytest.approx(0.005 + calm.variance)
    assert world.step(int(np.flatnonzero(winds > 0)[0])).noise_variance[2] == pytest.approx(0.005)
    assert world.expected([row])[0, 2] == 0.0
    assert set(world.set_aside[1][:, 2]) == {calm.value, 4.0}
    felt = world.compose([[280.0, 50.0, calm.value]], [row])
    assert felt == world.compose([[280.0, 50.0, 0.0]], [row])


def test_winds_that_live_are_latent_by_themselves():
    with pytest.raises(ValueError, match="calm='latent' has no effect"):
        make("weather-live", sensors=20, calm="latent")
