"""Speed and memory of the agent-based flu season, what common random numbers save, and a model of objects.

    python benchmarks/bench_flu_abm.py [--city 1600000] [--town 10000] [--crn 100000] [--seeds 20]

Prints the time to build a city and to simulate its season (365 days, R0 1.3) with the peak memory; the time
of 180 days of a town beside a Mesa model with one agent a person on the same network, at the same R0; and the
variance of the difference between two policies with independent seeds over that with common ones.
"""

import argparse
import resource
import time

import mesa
import numpy as np

from simulators.flu.season.model import FluModel
from simulators.flu.season.transmission import contact_rows
from simulators.population.population import build_population


class Person(mesa.Agent):
    """A person as an object: susceptible, exposed, infectious or recovered."""

    def __init__(self, model, susceptibility):
        super().__init__(model)
        self.susceptibility = susceptibility
        self.state, self.contacts = "S", []

    def step(self):
        if self.state == "I":
            for other in self.contacts:
                if other.state == "S" and self.random.random() < self.model.chance * other.susceptibility:
                    other.state = "E"
            if self.random.random() < 1 / 4:
                self.state = "R"
        elif self.state == "E" and self.random.random() < 1 / 1.9:
            self.state = "I"


class ObjectModel(mesa.Model):
    """The same season as :class:`FluModel`, with one Mesa agent a person."""

    def __init__(self, population, susceptibility, chance, infected, seed):
        super().__init__(seed=seed)
        self.chance = chance
        people = [Person(self, susceptibility[j]) for j in population.group]
        for layer in population.network.layers.values():
            for person, start, end in zip(people, layer.indptr, layer.indptr[1:], strict=False):
                person.contacts += [people[k] for k in layer.indices[start:end]]
        for person in self.random.sample(people, infected):
            person.state = "I"
        self.datacollector = mesa.DataCollector(
            {state: lambda m, s=state: sum(p.state == s for p in m.agents) for state in "SEIR"}
        )

    def step(self):
        self.agents.shuffle_do("step")
        self.datacollector.collect(self)


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def city(persons):
    build, population = seconds(lambda: build_population(persons, seed=0))
    prepare, _ = seconds(lambda: contact_rows(population.network))
    times = []
    for seed in range(3):
        start, model = seconds(lambda seed=seed: FluModel(population, r0=1.3, seed=seed))
        run, _ = seconds(model.run_model)
        times.append((start + run, start, run))
    total, start, run = min(times)
    degree = len(contact_rows(population.network).partners) / persons
    share = sum(group.infections for group in model.groups) / persons
    print(
        f"{persons:,} persons, mean degree {degree:.1f}: built in {build:.1f} s and {prepare:.1f} s; a "
        f"season at R0 1.3 in {total:.2f} s ({start:.2f} s to start, {run:.2f} s to run, best of 3), "
        f"{share:.1%} infected; peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB"
    )


def town(persons):
    population = build_population(persons, seed=0)
    FluModel(population, seed=0).run_model()
    times = []
    for seed in range(15):
        start, model = seconds(lambda seed=seed: FluModel(population, days=180, seed=seed))
        run, _ = seconds(model.run_model)
        times.append(start + run)
    susceptibility = np.array([1, 0.75, 0.3, 0.7, 0.8])
    chance = -np.expm1(-model.rate)
    objects = ObjectModel(population, susceptibility, chance, 50, seed=0)

    def run_objects():
        for _ in range(180):
            objects.step()

    theirs, _ = seconds(run_objects)
    infected = sum(person.state != "S" for person in objects.agents)
    print(
        f"{persons:,} persons, 180 days: {1e3 * min(times):.0f} ms, median {1e3 * np.median(times):.0f} ms "
        f"({model.day} days until it was over, {sum(g.infections for g in model.groups)} infected); one Mesa "
        f"agent a person {1e3 * theirs:.0f} ms ({infected} infected): "
        f"{theirs / np.median(times):.0f} times as long"
    )


def common_random_numbers(persons, seeds):
    population = build_population(persons, seed=0)

    def infections(coverage, seed):
        model = FluModel(population, coverage=coverage, r0=1.3, seed=seed)
        model.run_model()
        return sum(group.infections for group in model.groups) / persons

    for other in ([0.05] * 5, [0.1, 0, 0, 0, 0]):
        first = np.array([infections(0.0, seed) for seed in range(2 * seeds)])
        second = np.array([infections(other, seed) for seed in range(seeds)])
        common = np.var(second - first[:seeds], ddof=1)
        apart = np.var(second - first[seeds:], ddof=1)
        print(
            f"{persons:,} persons, R0 1.3, nobody vaccinated against coverage {other}: variance of the "
            f"difference in attack rate {apart:.2e} with independent seeds, {common:.2e} with common ones: "
            f"{apart / common:.1f} times ({seeds} pairs)"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--city", type=int, default=1_600_000)
    parser.add_argument("--town", type=int, default=10_000)
    parser.add_argument("--crn", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    city(arguments.city)
    town(arguments.town)
    common_random_numbers(arguments.crn, arguments.seeds)
