"""Answers of weather services as they are saved: made-up values in the form in which each service writes."""

import json

import pytest

from simulators.stations import read_stations

METAR = [
    {
        "metar_id": 1, "icaoId": "KAAA", "receiptTime": "2026-03-01 12:05:00", "obsTime": 1772366400,
        "reportTime": "2026-03-01 12:00:00", "temp": 20, "dewp": 10, "wdir": "VRB", "wspd": 5, "visib": "10+",
        "altim": 1013, "lat": 40.1, "lon": -100.2, "elev": 300, "name": "Alpha Arpt, KS, US", "clouds": [],
    },
    {
        "metar_id": 2, "icaoId": "CYBB", "obsTime": 1772366100, "temp": -3.5, "dewp": -6, "wdir": 270,
        "wspd": 12, "lat": 52.0, "lon": -106.5, "elev": 500, "name": "Beta Intl, SK, CA",
    },
    {
        "metar_id": 3, "icaoId": "KCCC", "obsTime": 1772366400, "temp": None, "dewp": None, "wspd": 3,
        "lat": 39.0, "lon": -99.0, "name": "Gamma, KS, US",
    },
]  # fmt: skip

GEOJSON = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {
                "id": one["icaoId"], "site": one["name"].rsplit(",", 2)[0], "prior": 4,
                "obsTime": "2026-03-01T12:00:00Z", "temp": one["temp"], "dewp": one["dewp"],
                "wspd": one["wspd"], "wdir": 120,
            },
            "geometry": {"type": "Point", "coordinates": [one["lon"], one["lat"]]},
        }
        for one in METAR[:2]
    ],
}  # fmt: skip


def latest(station, temperature, **others):
    def said(value):
        return {"value": value, "date_time": "2026-03-01T11:55:00Z"}

    observations = {"air_temp_value_1": said(temperature), "wind_speed_value_1": said(10.0)}
    observations |= {name: said(value) for name, value in others.items()}
    return {
        "STID": station, "NAME": f"Site {station}", "COUNTRY": "US", "ELEVATION": "1000", "STATUS": "ACTIVE",
        "LATITUDE": "40.5", "LONGITUDE": "-111.9" if station == "WBB" else "-112.4",
        "OBSERVATIONS": observations,
    }  # fmt: skip


def synoptic(stations, units):
    return {
        "STATION": stations,
        "SUMMARY": {"RESPONSE_CODE": 1, "NUMBER_OF_OBJECTS": len(stations)},
        "UNITS": {"air_temp": "Fahrenheit", "wind_speed": "mph", "relative_humidity": "%"} | units,
    }


SERIES = {
    "STID": "WBB", "NAME": "Campus", "COUNTRY": "US", "LATITUDE": "40.5", "LONGITUDE": "-111.9",
    "OBSERVATIONS": {
        "date_time": ["2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z", "2026-03-01T12:00:00Z"],
        "air_temp_set_1": [10.0, 11.0, None],
        "relative_humidity_set_1": [50.0, 52.0, 55.0],
        "wind_speed_set_1": [1.0, 2.0, 3.0],
    },
}  # fmt: skip


def described(station, lon, country="DE"):
    name = {"en": f"Town {station}", "de": f"Stadt {station}"}
    location = {"latitude": 50.0, "longitude": lon, "elevation": 100}
    return {
        "meta": {"generated": "x"},
        "data": {"id": station, "name": name, "country": country, "location": location},
    }


def hourly(*temperatures):
    rows = [
        {
            "time": f"2026-03-01 {hour:02d}:00:00",
            "temp": t,
            "dwpt": 2.0,
            "rhum": None,
            "wspd": 18.0,
            "prcp": None,
        }
        for hour, t in enumerate(temperatures, start=10)
    ]
    return {"meta": {"generated": "x", "stations": []}, "data": rows}


def saved(tmp_path, *answers):
    path = tmp_path / "answer"
    path.write_text("\n".join(json.dumps(one) for one in answers) + "\n")
    return path


def test_metar_reports_are_told_by_their_form(tmp_path):
    stations, report = read_stations(saved(tmp_path, METAR), quality="off")
    assert stations.ids.tolist() == ["KAAA", "CYBB"]
    assert stations.temperature.tolist() == pytest.approx([293.15, 269.65])
    assert stations.wind[0] == pytest.approx(5 * 1852 / 3600)
    assert stations.humidity[0] == pytest.approx(52.5, abs=0.2)  # of a dew point of 10 at 20 degC
    assert str(stations.time[0]) == "2026-03-01T12:00:00" and stations.lon[0] == -100.2
    assert report.rows == 3 and "missing" in str(report)
    american, _ = read_stations(saved(tmp_path, METAR), country="US", quality="off")
    assert american.ids.tolist() == ["KAAA"]


def test_metar_reports_in_geojson_are_the_same(tmp_path):
    stations, _ = read_stations(saved(tmp_path, GEOJSON), quality="off")
    expected, _ = read_stations(saved(tmp_path, METAR), quality="off")
    assert stations.ids.tolist() == expected.ids.tolist()
    assert stations.readings == pytest.approx(expected.readings) and (stations.lat == expected.lat).all()


def test_the_latest_of_synoptic_data_has_the_units_that_it_declares(tmp_path):
    answer = synoptic([latest("WBB", 50.0, relative_humidity_value_1=40.0), latest("X", 41.0)], {})
    stations, report = read_stations(saved(tmp_path, answer), quality="off")
    assert stations.ids.tolist() == ["WBB"] and report.count("dropped") == 1  # X tells no humidity
    assert stations.readings[0].tolist() == pytest.approx([283.15, 40.0, 4.4704])
    assert stations.lon[0] == -111.9 and str(stations.time[0]) == "2026-03-01T11:55:00"


def test_a_derived_dew_point_stands_in_for_a_humidity(tmp_path):
    answer = synoptic(
        [latest("WBB", 50.0, dew_point_temperature_value_1d=41.0)], {"dew_point_temperature": "F"}
    )
    stations, _ = read_stations(saved(tmp_path, answer), quality="off")
    assert stations.humidity[0] == pytest.approx(71.0, abs=0.5)  # 5 degC at 10 degC


def test_a_series_of_synoptic_data_is_read_at_the_moment_that_is_asked(tmp_path):
    answer = synoptic([SERIES], {"air_temp": "Celsius", "wind_speed": "m/s"})
    path = saved(tmp_path, answer)
    stations, report = read_stations(path, quality="off")
    assert report.rows == 3 and stations.readings[0].tolist() == pytest.approx([284.15, 52.0, 2.0])
    earlier, _ = read_stations(path, at="2026-03-01T10:00Z", quality="off")
    assert earlier.readings[0].tolist() == pytest.approx([283.15, 50.0, 1.0])


def test_a_unit_that_is_not_known_is_one_line(tmp_path):
    answer = synoptic([latest("WBB", 50.0, relative_humidity_value_1=40.0)], {"wind_speed": "furlongs"})
    with pytest.raises(ValueError, match="UNITS: wind_speed is in 'furlongs'; accepted: m/s"):
        read_stations(saved(tmp_path, answer))


def test_answers_of_meteostat_are_joined_with_the_station_that_comes_before(tmp_path):
    path = saved(
        tmp_path, described("10637", 8.6), hourly(5.0, 6.0), described("7110", -4.4, "FR"), hourly(9.0, 10.0)
    )
    stations, report = read_stations(path, quality="off")
    assert stations.ids.tolist() == ["10637", "7110"] and report.rows == 4
    assert stations.names[0] == "Town 10637" and stations.lon.tolist() == [8.6, -4.4]
    assert stations.temperature.tolist() == pytest.approx([279.15, 283.15])
    assert stations.wind[0] == pytest.approx(5.0)
    german, _ = read_stations(path, country="DE", at="2026-03-01T10:00Z", quality="off")
    assert german.ids.tolist() == ["10637"] and german.temperature[0] == pytest.approx(278.15)
    with pytest.raises(ValueError, match="row 1: readings of no station"):
        read_stations(saved(tmp_path, hourly(5.0)))
    with pytest.raises(ValueError, match="there are no readings"):
        read_stations(saved(tmp_path, described("10637", 8.6)))


def test_a_table_of_meteostat_is_a_known_header(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(
        "station,time,temp,dwpt,rhum,prcp,wspd,name,country,latitude,longitude\n"
        "10637,2026-03-01 12:00:00,5.0,2.0,81,,18.0,Town,DE,50.0,8.6\n"
    )
    stations, _ = read_stations(path, quality="off")
    assert stations.readings[0].tolist() == pytest.approx([278.15, 81.0, 5.0])


def test_an_answer_of_thousands_of_stations_in_one_line_is_read(tmp_path):
    many = [
        METAR[0] | {"icaoId": f"K{i:04d}", "lon": -120 + i * 0.01, "rawOb": "x" * 300} for i in range(3000)
    ]
    path = saved(tmp_path, many)
    assert path.stat().st_size > 2**20
    stations, _ = read_stations(path, quality="off")
    assert len(stations) == 3000


def test_options_that_have_no_effect_and_another_format_are_refused(tmp_path):
    path = saved(tmp_path, METAR)
    with pytest.raises(ValueError, match="units=.* has no effect on .*aviation-weather"):
        read_stations(path, units={"wind": "mph"})
    with pytest.raises(ValueError, match="columns=.* has no effect"):
        read_stations(path, format="aviation-weather", columns={"lon": "lon"})
    named, _ = read_stations(path, format="aviation-weather", quality="off")
    assert len(named) == 2
    as_table, _ = read_stations(
        path,
        columns={"lon": "lon", "lat": "lat", "temperature": "temp", "dew_point": "dewp", "wind": "wspd"},
        units={"temperature": "degC", "dew_point": "degC", "wind": "kt"},
        quality="off",
    )
    assert len(as_table) == 2


@pytest.mark.parametrize(
    "answer", [[{"icaoId": "K"}], {"STATION": [{"STID": "X", "OBSERVATIONS": {}}]}, {"meta": 1, "data": 3}]
)
def test_an_answer_that_says_nothing_is_one_line(tmp_path, answer):
    with pytest.raises(ValueError, match="answer: .*row") as caught:
        read_stations(saved(tmp_path, answer))
    assert "\n" not in str(caught.value)
