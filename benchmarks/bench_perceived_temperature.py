"""Perceived temperature of many triples on one thread, beside MetPy's heat index and wind chill if installed.

    python benchmarks/bench_perceived_temperature.py [--triples 100000] [--repeats 30]

Prints the least time of each rule, of the gradient and of readings in K and m/s, over all pieces and over the
hot and the cold alone; then, where ``pip install metpy`` has been done, the least time of its two functions
on the same triples in the same run, and the largest difference. There is one, since MetPy takes the wind
chill's metric coefficients and, below the regression, the simple formula without its average with the
temperature.
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from simulators.stations.units import convert
from simulators.weather.perceived_temperature import (
    RULES,
    perceived_temperature,
    perceived_temperature_gradient,
)


def least(repeats, function, *arguments, **options):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*arguments, **options)
        times.append(time.perf_counter() - start)
    return f"{1e3 * min(times):8.2f} ms"


def metpy_times(repeats, T, RH, V):
    try:
        from metpy.calc import heat_index, windchill
        from metpy.units import units
    except ImportError:
        print("MetPy is not installed: no comparison")
        return
    t, rh, v = T * units.degF, RH * units.percent, V * units.mph

    def both():
        return heat_index(t, rh), windchill(t, v)

    print(f"MetPy, heat_index and windchill    {least(repeats, both)}")
    index, chill = (np.ma.filled(x.to("degF").magnitude, np.nan) for x in both())
    # Near 80 degF the NWS averages the simple formula with the temperature, as ours does; MetPy does not.
    hot, cold = T >= 80, (T <= 50) & (V > 3)
    theirs = np.where(hot, index, np.where(cold, chill, np.nan))
    difference = np.abs(theirs - perceived_temperature(T, RH, V))[hot | cold]
    print(
        f"largest difference to MetPy {np.nanmax(difference):.1e} degF; {np.isnan(difference).sum()} masked"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--triples", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=30)
    arguments = parser.parse_args()
    n, repeats = arguments.triples, arguments.repeats
    rng = np.random.default_rng(0)
    RH, V = rng.uniform(0, 100, n), rng.uniform(0, 40, n)
    for label, low, high in (("all pieces", -20, 112), ("hot alone", 80, 112), ("cold alone", -20, 50)):
        T = rng.uniform(low, high, n)
        for rule in RULES:
            seconds = least(repeats, perceived_temperature, T, RH, V, rule=rule)
            print(f"{label:12s} rule {rule:6s} value       {seconds}")
    T = rng.uniform(-20, 112, n)
    print(f"all pieces   rule nws    gradient    {least(repeats, perceived_temperature_gradient, T, RH, V)}")
    si = convert(T, "temperature", "degF", "K"), RH, convert(V, "wind", "mph", "m/s")
    seconds = least(repeats, perceived_temperature, *si, temperature_unit="K", wind_unit="m/s")
    print(f"all pieces   rule nws    K and m/s   {seconds}")
    metpy_times(repeats, T, RH, V)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
