import pytest

import simulators
from simulators import FluODE, make, names, register


def test_flu_ode_is_made_by_its_name():
    env = make("flu-ode", intervention="treatment")
    assert isinstance(env, FluODE)
    assert env.name == "flu-ode"
    assert "flu-ode" in names()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("flu_ode", {}, "unknown environment 'flu_ode' .nearest: 'flu-ode'."),
        ("weather report", {}, "known: .*flu-ode"),
        (
            "flu-ode",
            {"intervantion": "x"},
            "no option 'intervantion' .nearest: 'intervention'.; accepted: .*groups",
        ),
        ("flu-ode", {"budget": -1}, "budget=-1"),
    ],
)
def test_a_mistake_is_answered_by_the_nearest_valid_name(name, options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        make(name, **options)
    assert "\n" not in str(refusal.value)


def test_a_registered_factory_is_made_with_its_options(monkeypatch):
    monkeypatch.setattr("simulators.registry._factories", dict(simulators.registry._factories))

    def small_flu(days, groups=5):
        return FluODE(days=days, groups=groups)

    register("small-flu", small_flu)
    assert make("small-flu", days=10).days == 10
    assert make("small-flu", days=10).name == "small-flu"
    with pytest.raises(ValueError, match="needs the option 'days'"):
        make("small-flu")
    register("small-flu", small_flu)
    with pytest.raises(ValueError, match="already registered"):
        register("small-flu", FluODE)
    with pytest.raises(ValueError, match="module:attribute"):
        register("other", "simulators.flu_ode.FluODE")
    with pytest.raises(ValueError, match="empty"):
        register("", FluODE)
