"""The agents of the suite: ours with their variants, and others' through policyloop's own bridges."""

from bridges import make_agent
from optimizer import Acquisition
from simulators.contract.targets import is_target, load_target

OURS = {
    "auto": ("auto", {}),
    "d-gpucb": ("d-gpucb", {}),
    "d-ei": ("d-ei", {}),
    "d-mpi": ("d-mpi", {}),
    "d-ts": ("d-ts", {}),
    "gp-ucb": ("gp-ucb", {}),
    "ei": ("ei", {}),
    "random": ("random", {}),
}
"""Label to name and settings."""

PEERS = ("optuna-tpe", "optuna-gp", "botorch-ei")
FEW = {"optuna-gp": 5, "botorch-ei": 5}
"""Trials of those whose asks take seconds."""

VARIANTS = {
    "d-gpucb /25": ("d-gpucb", {"scale_down": 25.0}),
    "d-gpucb /100": ("d-gpucb", {"scale_down": 100.0}),
    "d-gpucb delta": ("d-gpucb", {"propagation": "delta"}),
    "d-gpucb matern": ("d-gpucb", {"family": "matern-5/2"}),
    "d-ei matern": ("d-ei", {"family": "matern-5/2"}),
}
"""Settings from which a default may be chosen, on the CHOOSING problems only."""

THEN = "d-gpucb then d-ei"
"""D-GPUCB, and D-EI for the last quarter of the rounds, with the same observations."""

KNOWN = (*OURS, *PEERS, *VARIANTS, THEN)


class InTurn:
    """One agent up to a round, then another, which goes on from what the first one has learned."""

    feedback = "decomposed"
    beside = None

    def __init__(self, first, second, last):
        self.first, self.second, self.last, self.rounds = first, second, last, 0

    @property
    def now(self):
        return self.first if self.rounds < self.last else self.second

    def ask(self, n=1):
        return self.now.ask(n)

    def recommend(self):
        return self.now.recommend()

    def tell(self, policies, observations, noise_variance=None):
        if self.rounds == 0:
            self.second.postpone()
        early = self.rounds < self.last
        if early:
            self.first.tell(policies, observations, noise_variance)
        self.second.tell(policies, observations, noise_variance)
        self.rounds += len(policies)
        if early and self.rounds >= self.last:
            self.second.recall(self.first.learned)


def own(target, problem, seed):
    """Somebody's own: an agent as `optimizer.register_agent` takes it, or d-gpucb with an acquisition."""
    found = load_target(target)
    if isinstance(found, type) and issubclass(found, Acquisition):
        return make_agent("d-gpucb", problem, acquisition=target, seed=seed)
    return make_agent(target, problem, seed=seed)


def build(label, problem, seed, rounds):
    """An agent of the suite by its label, or one's own by where it is."""
    if is_target(label):
        return own(label, problem, seed)
    if label == THEN:
        first, second = (make_agent(name, problem, seed=seed) for name in ("d-gpucb", "d-ei"))
        return InTurn(first, second, rounds - rounds // 4)
    if label == "botorch-ei":
        from benchmarks.suite.botorch_agent import BoTorchEI

        return BoTorchEI(problem, seed)
    name, settings = {**OURS, **VARIANTS}.get(label, (label, {}))
    return make_agent(name, problem, seed=seed, **settings)
