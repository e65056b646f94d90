"""BoTorch's composite log noisy EI on a problem of the suite; needs `pip install botorch`."""

import numpy as np
import torch

from benchmarks.bench_levers import BoTorchMixed
from benchmarks.botorch_models import bounds_of, seeded


class BoTorchEI(BoTorchMixed):
    """As in `bench_levers`, with any composition, and BoTorch's continuous optimiser where all is real.

    Where the noise is stated, its models are told it, as every agent is.
    """

    def objective(self):
        from botorch.acquisition.objective import GenericMCObjective

        g, sign = self.environment.g, self.environment.sign
        if g is None:
            return GenericMCObjective(lambda samples, X=None: sign * samples.sum(dim=-1))
        return GenericMCObjective(lambda samples, X=None: sign * g(samples, torch))

    def ask(self, n=1, context=None):
        if not (self.space.steps == 0).all():
            return super().ask(n)
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.optim import optimize_acqf
        from botorch.sampling import SobolQMCNormalSampler

        seeded(self)
        model, X = self.model()
        sampler = SobolQMCNormalSampler(torch.Size([64]), seed=self.seed)
        chosen = qLogNoisyExpectedImprovement(model, X, sampler=sampler, objective=self.objective())
        point, _ = optimize_acqf(chosen, bounds_of(self.space), q=n, num_restarts=4, raw_samples=128)
        return np.clip(point.detach().numpy(), self.space.lower, self.space.upper)
