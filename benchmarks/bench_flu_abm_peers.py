"""The flu season beside Starsim and epiworldpy: 365 days, R0 1.3, a static random network of mean degree 12.

    python -m venv PEERS && PEERS/bin/pip install starsim epiworldpy
    python benchmarks/bench_flu_abm_peers.py --peers PEERS/bin/python [--persons 100000 1000000]

Every framework gets the same pairs, 0.34 % infected and a mean infectious period of 4 days, and is timed from
the end of its set-up to the end of the season (ours with its set-up, on a network that is there); the best of
three counts up to 200,000 persons. A warm-up comes first, so that Starsim's compilation is not counted.
Starsim runs SIR, the others SEIR. The frameworks mean different things by a rate of transmission, so the
peers' are set so that about as many are infected.
"""

import argparse
import json
import subprocess
import time

import numpy as np

DEGREE, R0, DAYS, INFECTED = 12, 1.3, 365, 0.0034
STARSIM_RATE, EPIWORLD_PROBABILITY = 0.0337, 0.0204  # a day and contact


def random_pairs(persons):
    rng = np.random.default_rng(0)
    a, b = rng.integers(persons, size=(2, persons * DEGREE // 2))
    low, high = np.minimum(a, b)[a != b], np.maximum(a, b)[a != b]
    return np.divmod(np.unique(low * persons + high), persons)


def best(season, persons):
    """The fastest of three seasons; one is enough where it takes minutes."""
    return min(season() for _ in range(3 if persons <= 200_000 else 1))


def ours(persons):
    from simulators.flu.season.model import FluModel
    from simulators.population.network import ContactNetwork, symmetric
    from simulators.population.pairs import key
    from simulators.population.population import Population
    from simulators.population.survey import AGES

    group, groups = np.ones(persons, dtype=np.int8), AGES[5].groups
    low, high = random_pairs(persons)
    nowhere = np.full(persons, -1, dtype=np.int32)
    age = np.full(persons, 30, dtype=np.int8)
    layer = symmetric(persons, key(low, high, persons))
    network = ContactNetwork({"random": layer}, {"random": 1.0}, group, groups)
    population = Population(age, group, groups, nowhere, nowhere, nowhere, network)
    options = {"r0": R0, "susceptibility": 1, "initial_infected": [0, round(INFECTED * persons), 0, 0, 0]}
    FluModel(population, seed=0, days=3, **options).run_model()

    def season():
        start = time.perf_counter()
        model = FluModel(population, seed=1, **options)
        model.run_model()
        return time.perf_counter() - start, model.groups[1].attack_rate

    return best(season, persons)


def starsim(persons):
    import starsim as ss

    class Pairs(ss.Network):
        def init_pre(self, sim):
            super().init_pre(sim)
            low, high = random_pairs(sim.pars.n_agents)
            weight = np.ones(len(low), dtype=ss.dtypes.float)
            self.append(p1=low.astype(ss.dtypes.int), p2=high.astype(ss.dtypes.int), beta=weight)

        def step(self):
            pass

    def season(n, days):
        disease = ss.SIR(
            beta=ss.perday(STARSIM_RATE),
            init_prev=ss.bernoulli(INFECTED),
            dur_inf=ss.expon(scale=ss.days(4)),
            p_death=ss.bernoulli(0),
        )
        span = {"start": ss.days(0), "dur": ss.days(days), "dt": ss.days(1)}
        sim = ss.Sim(n_agents=n, diseases=disease, networks=Pairs(), verbose=0, **span)
        sim.init()
        start = time.perf_counter()
        sim.run()
        return time.perf_counter() - start, float(np.mean(~np.asarray(sim.diseases[0].susceptible)))

    season(1_000, 5)
    return best(lambda: season(persons, DAYS), persons)


def epiworldpy(persons):
    from epiworldpy.epimodels import ModelSEIR

    low, high = (ends.tolist() for ends in random_pairs(persons))

    def season():
        model = ModelSEIR("flu", INFECTED, EPIWORLD_PROBABILITY, 1.9, 1 / 4)
        model.agents_from_edgelist(low, high, persons, False)
        model.verbose_off()
        start = time.perf_counter()
        model.run(DAYS, 1)
        seconds = time.perf_counter() - start
        return seconds, float(np.mean(np.array(model.get_agents_states()) != 0))

    return best(season, persons)


FRAMEWORKS = {"policyloop": ours, "starsim": starsim, "epiworldpy": epiworldpy}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", help="the Python that has starsim and epiworldpy")
    parser.add_argument("--persons", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--only", choices=FRAMEWORKS, help="time one framework, and print JSON")
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(FRAMEWORKS[arguments.only](arguments.persons[0])))
        return
    if not arguments.peers:
        parser.error("--peers is missing: the Python that has starsim and epiworldpy")
    for persons in arguments.persons:
        mine, attack = ours(persons)
        print(f"{persons:,} persons: policyloop {mine:.2f} s ({attack:.1%} infected)", flush=True)
        for name in ("starsim", "epiworldpy"):
            command = [arguments.peers, __file__, "--only", name, "--persons", str(persons)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"  {name} failed: {done.stderr.strip().splitlines()[-1]}", flush=True)
                continue
            theirs, attack = json.loads(done.stdout.strip().splitlines()[-1])
            print(
                f"  {name} {theirs:.2f} s ({attack:.1%} infected): {theirs / mine:.1f} times as long",
                flush=True,
            )


if __name__ == "__main__":
    main()
