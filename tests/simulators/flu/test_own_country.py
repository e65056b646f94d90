"""A country of one's own: levers, products, budgets, outcomes, and what is told in persons."""

import numpy as np
import pytest
from countries import country, ode

from simulators import FluODE, check_environment
from simulators.population import survey

RISKS = {
    "hospitalisation": np.array([0.002, 0.01, 0.05]),
    "death": np.array([1e-5, 2e-4, 5e-3]),
    "cost": np.array([40.0, 90.0, 500.0]),
    "qaly_loss": np.array([0.001, 0.002, 0.02]),
}
TODAY = np.array([0.1, 0.3, 0.6])


def own(**options):
    return ode(3, columns={**RISKS, "current": TODAY}, **options)


def per_person(env, name, x):
    info = env.step(x).info
    return info[name] / env.population.sum()


def test_the_us_as_a_country_of_ones_own_is_the_built_in_us():
    table = survey.AGES[5]
    built_in = FluODE()
    mine = FluODE(
        groups=table.groups,
        population=table.population,
        contacts=survey.CONTACTS["del-valle-2013"][5],
        susceptibility=table.susceptibility,
        efficacy=table.efficacy,
        current=table.coverage,
        initial_infected=100 * table.initial_infected,
        noise_variance=table.noise_variance,
    )
    x = np.random.default_rng(0).uniform(0, 1, (5, 5))
    assert np.array_equal(mine.expected(x), built_in.expected(x))
    assert mine.r0 == built_in.r0
    assert mine.policy_space.constraint.ub[0] == built_in.policy_space.constraint.ub[0]
    assert mine.current_policy.tolist() == built_in.current_policy.tolist()


@pytest.mark.parametrize("J", [1, 2, 17, 100])
def test_any_number_of_groups_honours_the_contract(J):
    env = ode(J, columns={"current": np.full(J, 0.3)}, budget="default")
    assert env.expected([np.zeros(J)]).shape == (1, J)
    if J < 20:
        assert check_environment(env) == []


def test_what_a_country_does_not_say_holds_by_default_and_is_told():
    env = ode(3)
    assert env.efficacy.tolist() == [0.4] * 3
    assert env.initial_infected == pytest.approx(0.001 * env.population)
    assert env.noise_variance.sum() == pytest.approx(8e-5)
    assert any("initial_infected" in said for said in env.findings)
    assert any("efficacy" in said for said in env.findings)
    assert env.current_policy is None


def test_no_efficacy_is_assumed_where_every_product_tells_its_own():
    told = ode(3, products=[{"name": "a", "efficacy": 0.5}])
    assert not any("efficacy" in said for said in told.findings)
    assert any("efficacy" in said for said in ode(3, products=[{"name": "a"}]).findings)


def test_r0_is_1_28_at_todays_coverage_unless_it_is_given():
    env = own(r0=None)
    assert f"r0 = {env.r0:.4g}, by default: 1.28 at today's coverage" in env.findings
    nobody = ode(3, r0=None)
    assert nobody.r0 == pytest.approx(1.28)
    assert "r0 = 1.28, by default: 1.28 with nobody vaccinated" in nobody.findings
    left = (1 - 0.4 * TODAY)[:, None] * env.beta * env.infectious_period
    assert np.abs(np.linalg.eigvals(left)).max() == pytest.approx(1.28)


def test_the_usual_budget_is_the_doses_of_today_and_today_is_a_policy():
    env = own(budget="default")
    assert env.policy_space.constraint.ub[0] == pytest.approx(TODAY @ env.population / env.population.sum())
    assert env.current_policy.tolist() == TODAY.tolist()
    assert env.step(TODAY).info["doses"] == pytest.approx(TODAY * env.population)


def test_todays_coverage_beyond_the_budget_is_no_policy_and_said_so():
    env = own(budget=0.1)
    assert env.current_policy is None
    assert any("today's coverage is beyond the budget" in said for said in env.findings)
    assert not any("beyond" in said for said in own(budget="default").findings)


def test_a_budget_in_doses_is_one_in_doses_a_person():
    N = country(3).persons.sum()
    assert own(budget="default", budget_doses=0.2 * N).policy_space.constraint.ub[0] == pytest.approx(0.2)
    everybody = own(budget="default", budget_doses=N).policy_space
    assert everybody.contains([[1.0, 1.0, 1.0]])[0]


def test_groups_tied_together_get_one_coverage_and_the_others_keep_todays():
    tied = own(levers={"old": ["band 2", "band 1"]}, budget=0.5)
    assert tied.policy_space.labels == ("old",)
    each = own()
    assert tied.expected([[0.35]]) == pytest.approx(each.expected([[0.1, 0.35, 0.35]]), rel=1e-12)
    N = tied.population
    assert tied.step([0.35]).info["doses"] == pytest.approx([0.1 * N[0], 0.35 * N[1], 0.35 * N[2]])
    constraint = tied.policy_space.constraint
    assert constraint.A[0] == pytest.approx([(N[1] + N[2]) / N.sum()])
    assert constraint.ub[0] == pytest.approx(0.5 - 0.1 * N[0] / N.sum())
    today = (0.3 * N[1] + 0.6 * N[2]) / (N[1] + N[2])
    assert own(levers={"old": ["band 2", "band 1"]}, budget="default").current_policy == pytest.approx(
        [today]
    )


def test_a_lever_counts_in_packs_of_all_its_persons():
    packs = own(levers={"old": ["band 1", "band 2"]}, pack=1000)
    shares = own(levers={"old": ["band 1", "band 2"]})
    persons = packs.population[1:].sum()
    assert packs.expected([[200.0]]) == pytest.approx(shares.expected([[200_000 / persons]]))


def test_products_differ_in_efficacy_and_share_a_groups_persons():
    products = [
        {"name": "standard", "efficacy": [0.5, 0.4, 0.2]},
        {"name": "high-dose", "efficacy": 0.6, "only": ["band 2"]},
    ]
    env = own(products=products)
    labels = tuple(f"standard: band {j}" for j in range(3)) + ("high-dose: band 2",)
    assert env.policy_space.labels == labels
    # A dose of 0.6 in place of three of 0.2 leaves as many immune.
    assert env.expected([[0.1, 0.2, 0.0, 0.2]]) == pytest.approx(env.expected([[0.1, 0.2, 0.6, 0.0]]))
    plain = own(efficacy=[0.5, 0.4, 0.2])
    assert env.expected([[0.1, 0.2, 0.3, 0.0]]) == pytest.approx(plain.expected([[0.1, 0.2, 0.3]]), rel=1e-12)
    assert env.policy_space.contains([[0, 0, 0.5, 0.5]])[0]
    assert not env.policy_space.contains([[0, 0, 0.6, 0.5]])[0]
    assert env.current_policy.tolist() == [*TODAY, 0.0]
    info = env.step([0.1, 0.2, 0.5, 0.25]).info
    N = env.population
    assert info["doses"] == pytest.approx([0.1 * N[0], 0.2 * N[1], 0.75 * N[2]])
    assert info["doses_by_product"]["high-dose"] == pytest.approx(0.25 * N[2])
    assert sum(info["doses_by_product"].values()) == pytest.approx(info["doses"].sum())


def test_a_budget_in_money_counts_what_each_product_costs():
    products = [{"name": "a", "cost": 10.0}, {"name": "b", "cost": 40.0, "only": ["band 0"], "doses": 20_000}]
    env = own(products=products, budget="default", budget_cost=2_000_000.0)
    N, space = env.population, env.policy_space
    x = np.array([0.2, 0.0, 0.0, 0.04])
    spent = 10 * 0.2 * N[0] + 40 * 0.04 * N[0]
    assert space.contains([x * 2_000_000 / spent])[0] == (x[3] * 2_000_000 / spent * N[0] <= 20_000)
    money = space.constraint.A[0] @ x / space.constraint.ub[0]
    assert money == pytest.approx(spent / 2_000_000)
    assert not space.contains([[0, 0, 0, 20_001 / N[0]]])[0]
    assert space.contains([[0, 0, 0, 19_999 / N[0]]])[0]


def test_money_is_no_doses_and_doses_no_money():
    products = [{"name": "a", "cost": 10.0}]
    both = own(products=products, budget=0.2, budget_cost=1e6).policy_space
    assert len(both.constraint.A) == 2
    assert len(own(products=products, budget="default", budget_cost=1e6).policy_space.constraint.A) == 1


@pytest.mark.parametrize(
    ("outcome", "name", "factor"),
    [
        ("infections", "infections", 1e5),
        ("hospitalisations", "hospitalisations", 1e5),
        ("deaths", "deaths", 1e5),
        ("qalys", "qalys", 1e5),
        ("cost", "cost", 1.0),
    ],
)
def test_an_outcome_is_what_the_whole_population_has_of_it_by_group(outcome, name, factor):
    env, x = own(outcome=outcome), np.array([0.2, 0.1, 0.5])
    assert env.expected([x])[0] == pytest.approx(factor * per_person(env, name, x), rel=1e-12)
    assert env.group_units == (env.objective_unit,) * 3
    assert ("100,000" in env.objective_unit) == (factor == 1e5)


def test_risks_multiply_infections_and_infections_are_sick_days_by_the_infectious_period():
    env, x = own(days=1500), [0.2, 0.1, 0.5]
    info = env.step(x).info
    sick = env.expected([x])[0] * env.population.sum()
    assert info["infections"] == pytest.approx(sick / env.infectious_period, rel=1e-6)
    assert info["infections"] == pytest.approx(info["attack_rate"] * env.population)
    pairs = {"hospitalisations": "hospitalisation", "deaths": "death", "cost": "cost", "qalys": "qaly_loss"}
    for name, risk in pairs.items():
        assert info[name] == pytest.approx(RISKS[risk] * info["infections"]), name


def test_doses_that_cost_are_part_of_the_cost():
    free = own(outcome="cost", products=[{"name": "a"}])
    paid = own(outcome="cost", products=[{"name": "a", "cost": 12.0}])
    x = np.array([0.2, 0.1, 0.5])
    more = 12.0 * x * paid.population / paid.population.sum()
    assert paid.expected([x])[0] == pytest.approx(free.expected([x])[0] + more)
    assert paid.step(x).info["cost"].sum() == pytest.approx(paid.expected([x]).sum() * paid.population.sum())


def test_a_weighted_sum_weighs_what_one_person_has_of_each():
    weights = {"cost": 1.0, "qalys": 30_000.0, "sick days": 0.5}
    env, x = own(outcome_weights=weights), np.array([0.2, 0.1, 0.5])
    found = env.expected([x])[0]
    sick = own().expected([x])[0]
    by_hand = per_person(env, "cost", x) + 30_000 * per_person(env, "qalys", x) + 0.5 * sick
    assert found == pytest.approx(by_hand)


def test_beds_are_told_by_group_and_their_sum_is_the_peak():
    env, x = own(outcome="peak beds", hospital_stay=8.0), np.zeros(3)
    beds = env.expected([x])[0]
    short = own(outcome="peak beds", hospital_stay=4.0).expected([x])[0]
    assert (beds > short).all() and (beds < 2 * short).all()
    assert env.compose(beds, x) == pytest.approx(beds.sum())


def test_noise_is_that_of_infections_whatever_is_made_of_them():
    sick, infections = own().noise_variance, own(outcome="infections").noise_variance
    assert np.sqrt(infections) == pytest.approx(1e5 * np.sqrt(sick) / 4)
    deaths = own(outcome="deaths").noise_variance
    assert np.sqrt(deaths) == pytest.approx(RISKS["death"] * np.sqrt(infections))


def test_infectivity_counts_on_the_side_of_those_who_infect():
    one = country(3)
    plain, half = ode(3), ode(3, columns={"infectivity": np.array([1.0, 1.0, 0.5])})
    ratio = half.beta / plain.beta
    assert ratio[:, 2] / ratio[:, 0] == pytest.approx([0.5] * 3)
    assert half.r0 == plain.r0 == 1.6
    assert half.contacts == pytest.approx(one.contacts)


def test_contacts_by_setting_add_up():
    one = country(3)
    halves = {"home": 0.25 * one.contacts, "school": 0.75 * one.contacts}
    given = {"groups": one.groups, "population": one.persons, "r0": 1.5, "budget": "none"}
    x = [[0.1, 0.2, 0.3]]
    whole = FluODE(contacts=one.contacts, **given).expected(x)
    assert FluODE(contacts=halves, **given).expected(x) == pytest.approx(whole)


def test_a_country_is_read_from_its_files(tmp_path):
    groups, contacts = tmp_path / "groups.csv", tmp_path / "contacts.csv"
    groups.write_text("age,persons,death,current\n0-17,200,0.001,0.1\n18+,600,0.01,0.4\n", encoding="utf-8")
    contacts.write_text(",0-17,18+\n0-17,6,3\n18+,1,7\n", encoding="utf-8")
    env = FluODE(groups=str(groups), contacts=str(contacts), outcome="deaths")
    assert env.groups == ("0-17", "18+")
    assert env.contacts.tolist() == [[6, 3], [1, 7]]
    assert env.coverage.tolist() == [0.1, 0.4]
    by_setting = FluODE(groups=str(groups), contacts={"home": str(contacts), "work": str(contacts)})
    assert by_setting.contacts.tolist() == [[12, 6], [2, 14]]
