import pytest

import simulators
from simulators import FluODE, SensorNetwork, WeatherLive, make, names, register


def test_flu_ode_is_made_by_its_name():
    env = make("flu-ode", intervention="treatment")
    assert isinstance(env, FluODE)
    assert env.name == "flu-ode"
    assert "flu-ode" in names()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("flu_ode", {}, "unknown environment 'flu_ode'; did you mean 'flu-ode'."),
        ("weather report", {}, ".accepted: .*flu-ode"),
        (
            "flu-ode",
            {"intervantion": "x"},
            "no option 'intervantion'; did you mean 'intervention'. .accepted: .*groups",
        ),
        ("flu-ode", {"budget": -1}, "budget=-1"),
    ],
)
def test_a_mistake_is_answered_by_the_nearest_valid_name(name, options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        make(name, **options)
    assert "\n" not in str(refusal.value)


def test_a_registered_factory_is_made_with_its_options(monkeypatch):
    monkeypatch.setattr(
        "simulators.contract.registry._factories", dict(simulators.contract.registry._factories)
    )

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
        register("other", "simulators.flu.ode.FluODE")
    with pytest.raises(ValueError, match="empty"):
        register("", FluODE)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("function", {"f": "math:fsum"}),
        ("command", {"command": ["true"]}),
        ("gymnasium", {"env": "CartPole-v1", "outcomes": "math:fsum"}),
        ("um-bridge", {"url": "http://localhost:1"}),
    ],
)
def test_an_option_that_a_base_class_takes_is_known_to_every_adapter(name, options):
    options = {**options, "policy": {"x": (0, 1)}}
    with pytest.raises(
        ValueError, match="no option 'bugdet'; did you mean 'budget'. .accepted:.*weights"
    ) as told:
        make(name, **options, groups=["a"], bugdet=3)
    assert "\n" not in str(told.value) and "self" not in str(told.value)
    with pytest.raises(ValueError, match="needs the option 'groups'; 'gruops' is none of its options"):
        make(name, **options, gruops=["a"])


def test_an_option_that_an_adapter_sets_itself_is_none_of_its_own():
    options = {"model": "mesa:Model", "policy": {"x": (0, 1)}, "outcomes": {"a": "b"}, "steps": 1}
    with pytest.raises(ValueError, match=r"'mesa' has no option 'groups'.*.accepted: (?!.*\bgroups\b)"):
        make("mesa", **options, groups=["a"])


@pytest.mark.parametrize(
    ("name", "option", "meant"),
    [
        ("weather", "sensor", "sensors"),
        ("weather-live", "time_zome", "time_zone"),
        ("weather", "rulle", "rule"),
    ],
)
def test_options_that_are_passed_on_by_a_type_are_known(name, option, meant):
    with pytest.raises(
        ValueError, match=f"no option '{option}'; did you mean '{meant}'. .accepted: .*columns"
    ):
        make(name, **{option: 9})
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        (SensorNetwork if name == "weather" else WeatherLive)(**{option: 9})


def test_options_that_a_network_sets_itself_are_none_of_its_own():
    with pytest.raises(ValueError, match="'weather-live' has no option 'set_aside_share'"):
        make("weather-live", set_aside_share=0.5)


def test_options_that_a_class_keeps_for_itself_are_its_own(monkeypatch):
    monkeypatch.setattr(
        "simulators.contract.registry._factories", dict(simulators.contract.registry._factories)
    )

    class Anything(FluODE):
        def __init__(self, days=10, **rest):
            super().__init__(days=days)
            self.rest = rest
            len(**rest) if "fail" in rest else None

    register("anything", Anything)
    assert make("anything", bugdet=3).rest == {"bugdet": 3}
    with pytest.raises(TypeError, match="no keyword arguments"):
        make("anything", fail=1)
