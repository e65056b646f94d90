"""What a world knows of its limits is found out once, for all its trials and agents."""

import scenarios
from scenarios.trial.world import Worlds


def test_the_worst_within_the_limits_is_searched_once_a_world(scenario_file, monkeypatch):
    path = scenario_file(agents='["random"]', samples=0)
    path.write_text(path.read_text() + '[[limits]]\ngroup = "left"\nat_most = 1.04\n')
    searches = []
    found = scenarios.trial.world.bridges.find_worst
    monkeypatch.setattr(
        scenarios.trial.world.bridges, "find_worst", lambda *a, **k: searches.append(1) or found(*a, **k)
    )
    worlds = Worlds(scenarios.load(path))
    # (x - 0.2)^2 + (x - 0.8)^2 + 2 is largest at x = 0 where x <= 0.4.
    assert [round(worlds.of(trial).worst, 4) for trial in (1, 2, 1)] == [2.68] * 3 and len(searches) == 1
