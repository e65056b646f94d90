"""The `[prior]` table of a scenario file: what agents believe before their first round."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from scenarios.table import Table, plain_options

Family = Literal["rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq", "diffusion"]
SAMPLES = "a whole number, 2 or more, or 0 (no samples: each trial learns from its own rounds)"
FAMILY = 'one of "rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq", "diffusion" (on a graph)'
SOURCE = (
    'one of "samples", "environment" (the kernels that a drawn world names), "rounds" (each trial\'s own)'
)
KERNEL = '"composed" (the sum of the groups\' kernels) or "own" (fitted to the composed values)'


class MeanSpec(Table):
    """The entry `mean_from` of the `[prior]` table: whose outcomes the prior means are.

    Attributes
    ----------
    name : str
        A name of `simulators.names()`: an environment of the same groups and policies, which knows its
        noise-free outcomes.
    options : dict
        Its options, in place of those under which it describes the scenario's world.
    """

    name: str = Field(description="the name of an environment")
    options: dict[str, Any] = Field(default_factory=dict, description="a table of options")

    _plain = field_validator("options")(plain_options)


class PriorSpec(Table):
    """The `[prior]` table: where the kernels come from.

    Attributes
    ----------
    source : {"samples", "environment", "rounds"}, default "samples"
        Samples outside the trials; or the kernels and noise that the trial's world was drawn from, which the
        environment names; or each trial's own rounds.
    family : str, default "rbf"
        Kernel family, where kernels are learned. "diffusion" needs an environment with a graph, whose option
        `features` it sets to "graph".
    samples : int, default 1000
        Samples outside the trials from which kernels are learned, then frozen; 0: each trial
        learns from its own rounds. Without meaning for the other sources.
    restarts : int, default 2
        Restarts of the marginal likelihood's maximisation.
    kernel : {"composed", "own"}, default "composed"
        Kernel of the agents with aggregate feedback; "own" wherever the composition is not linear.
    mean_from : MeanSpec, optional
        An environment whose noise-free outcomes are the prior means: kernels, learned from samples, then
        describe the discrepancy. By default the means are constants.
    """

    source: Literal["samples", "environment", "rounds"] = Field(default="samples", description=SOURCE)
    family: Family = Field(default="rbf", description=FAMILY)
    samples: int = Field(default=1000, description=SAMPLES)
    restarts: int = Field(default=2, ge=0, description="a whole number, 0 or more")
    kernel: Literal["composed", "own"] = Field(default="composed", description=KERNEL)
    mean_from: MeanSpec | None = Field(default=None, description="a table with a name and options")

    @field_validator("samples")
    @classmethod
    def _enough(cls, samples: int) -> int:
        if samples != 0 and samples < 2:
            raise ValueError(SAMPLES)
        return samples

    @property
    def given(self) -> bool:
        """Whether agents are handed their prior before the first round; else they learn it in the trial."""
        return self.source == "environment" or (self.source == "samples" and self.samples > 0)
