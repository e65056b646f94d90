"""What an agent with aggregate feedback makes of a prior of the groups."""

from optimizer.agents.settings import AgentSettings
from optimizer.composition.linear import BaseComposition, Composition


def composed_of(name: str, composition: BaseComposition, settings: AgentSettings) -> list[Composition]:
    """What an agent with aggregate feedback composes its prior of: the objective, then the limits' values.

    ValueError where one of them is not linear, so that no prior of the groups composes it.
    """
    limits = settings.limits
    if limits is None:
        if settings.kernel == "composed" and isinstance(composition, Composition):
            return [composition]
        raise ValueError(f"{name} needs a prior of the composed values: no general g composes one")
    constant = isinstance(composition, Composition) and composition.constant_weights is not None
    if any(limits.functions) or not constant:
        raise ValueError(
            f"{name} cannot compose the prior of its limits: that takes linear limits, and a linear "
            "objective of weights that all policies share; let it learn from its own rounds "
            "(prior.samples = 0)"
        )
    assert isinstance(composition, Composition)
    return [composition, *(Composition(limits.groups, weights=row) for row in limits.A)]
