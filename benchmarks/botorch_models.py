"""What the BoTorch peers share: a GP of each group, a trial's seed, and the space's linear constraints.

Needs `pip install botorch`, which is no dependency of policyloop; nothing is imported before it is used.
"""

import numpy as np


def seeded(agent):
    """Torch in double precision, its randomness that of an agent's round."""
    import torch

    torch.set_default_dtype(torch.float64)
    torch.manual_seed(int(np.random.SeedSequence([agent.seed, agent.rounds]).generate_state(1)[0]))


def bounds_of(space):
    """Lower and upper bounds (2, d) as a tensor."""
    import torch

    return torch.tensor(np.stack([space.lower, space.upper]), dtype=torch.float64)


def group_models(space, policies, observations, kinds=(), noise_variance=None):
    """A GP of each column of the observations, with the noise that is stated or else learned; fitted.

    `kinds` are the entries of policies that are categories.
    """
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import MixedSingleTaskGP, ModelListGP, SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from gpytorch.mlls import SumMarginalLogLikelihood

    X, Y = torch.tensor(policies), torch.tensor(observations)
    numbers = [i for i in range(space.d) if i not in kinds]
    scaled = {"indices": numbers} if kinds else {}
    models = []
    for j in range(Y.shape[1]):
        noise = None if noise_variance is None else torch.tensor(noise_variance[:, [j]])
        parts = {
            "input_transform": Normalize(space.d, bounds=bounds_of(space), **scaled),
            "outcome_transform": Standardize(1),
        }
        if kinds:
            models.append(MixedSingleTaskGP(X, Y[:, [j]], list(kinds), noise, **parts))
        else:
            models.append(SingleTaskGP(X, Y[:, [j]], noise, **parts))
    model = ModelListGP(*models)
    fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
    return model, X


def linear_constraints(space):
    """The space's linear constraints as `optimize_acqf` takes them; None without any."""
    import torch

    every, rows = torch.arange(space.d), []
    for row, low, high in space.constraint_rows():
        rows += [(every, torch.tensor(row), low)] if np.isfinite(low) else []
        rows += [(every, -torch.tensor(row), -high)] if np.isfinite(high) else []
    return rows or None
