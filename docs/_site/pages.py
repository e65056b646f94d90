"""The pages of the reference, written from the code: nothing of them is kept by hand.

Each function gives a page's Markdown; `written` gives all of them by path below docs/.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import typer

import bridges  # noqa: F401 - its agents and environments are known from now on
import optimizer
import simulators
from optimizer.agents.gp_agent import GPAgent
from optimizer.composition.propagation import Bound
from optimizer.posterior.decomposed_gp import DecomposedGP
from scenarios.cli import app
from scenarios.commands import describe
from scenarios.declaration.schema import Scenario
from scenarios.declaration.table import Table

sys.path.insert(0, str(Path(__file__).parent))
import run_page

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # benchmarks are not installed
PACKAGES = ("simulators", "optimizer", "bridges", "scenarios")
PUBLIC = re.compile(r"^from \.([\w.]+) import (\w+) as \w+$", re.MULTILINE)


def public_names(package: str) -> list[tuple[str, str]]:
    """Module and name of all that a package offers, as its `__init__.pyi` lists it."""
    return PUBLIC.findall((ROOT / package / "__init__.pyi").read_text(encoding="utf-8"))


def rooms() -> list[tuple[str, str]]:
    """Each package and room that has public names, in order; a room is a folder or a file of the package."""
    return list(
        dict.fromkeys(
            (package, module.split(".")[0]) for package in PACKAGES for module, _ in public_names(package)
        )
    )


def written() -> dict[str, str]:
    """All pages by their path below docs/."""
    found = {f"reference/api/{package}/{room}.md": api(package, room) for package, room in rooms()}
    return found | {
        "reference/command-line.md": command_line(),
        "reference/scenario.md": scenario_keys(),
        "reference/environments.md": environments(),
        "reference/agents.md": agents(),
        "reference/algorithms.md": algorithms(),
        "reference/suite.md": suite(),
        "gallery.md": gallery(),
    }


PICTURED = {"tutorials": "Tutorials", "": "Guides", "bridges": "Simulators and optimizers of others"}
"""Folders of docs/ whose pictures are in the gallery, with their headings."""


def gallery() -> str:
    """Every picture that a page shows, each a link to its page, by what the page says of it."""
    parts = ["# Gallery", "What policyloop draws. A picture leads to the page that says how it was made."]
    for folder, heading in PICTURED.items():
        shown = []
        for page in sorted((ROOT / "docs" / folder).glob("*.md")):
            path = page.relative_to(ROOT / "docs")
            title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
            for said, image in run_page.IMAGE.findall(page.read_text(encoding="utf-8")):
                place = (path.parent / image).as_posix()
                shown.append(f"[![{said}]({place})]({path.as_posix()})\n**{title}**: {said}")
        if shown:
            listed = "\n\n".join(shown)
            parts.append(f'## {heading}\n\n<div class="gallery" markdown>\n\n{listed}\n\n</div>')
    return "\n\n".join(parts) + "\n"


def suite() -> str:
    """The published results of the suite of problems, analysed as `benchmarks.suite.analyse` does."""
    from benchmarks.suite import analyse
    from benchmarks.suite.optima import CHOOSING, JUDGING

    parts = [
        "# Results of the suite",
        "Of `benchmarks/suite/results.csv`, a line a problem, agent and trial. "
        "[The problems, and how trials are run](../agents.md#a-suite-of-problems-with-groups); "
        "[how to add your agent](../researchers.md#your-agent-on-the-suite). Less is better everywhere; "
        "regret is a multiple of `auto`'s, the geometric mean over problems with its 95 % interval.",
    ]
    for title, problems in (("Choosing problems", CHOOSING), ("Judging problems", JUDGING)):
        frame = analyse.table(ROOT / "nowhere", problems, published=analyse.PUBLISHED)
        told = "Nothing is published yet." if frame.empty else analyse.report(frame, "auto")
        parts += [f"## {title}", told]
    return "\n\n".join(parts) + "\n"


def api(package: str, room: str) -> str:
    """The public names of one room."""
    parts = [f"# {package}: {room}", f"Import each from `{package}` itself: `from {package} import ..`."]
    for module, name in public_names(package):
        if module.split(".")[0] == room:
            parts.append(f"::: {package}.{module}.{name}\n    options:\n      heading: {package}.{name}")
    return "\n\n".join(parts) + "\n"


def rows(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    """A Markdown table; its cells are `code` or `plain`, so that nothing in them ends it."""
    columns = list(head)
    lines = [columns, ["---"] * len(columns), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def plain(text: str) -> str:
    """Text inside a cell, every sign of Markdown in it escaped."""
    return re.sub(r"([|>\[\]*_`])", r"\\\1", " ".join(text.split())).replace("<", "&lt;")


def code(text: str) -> str:
    """Text as code inside a cell; nothing where there is none."""
    return f"`{text.replace('`', '')}`" if text else ""


def command_line() -> str:
    """Every command with its arguments and options, as `--help` tells them."""
    parts = [
        "# Command line",
        "`policyloop COMMAND --help` tells the same. See also [exit codes](files.md#exit-codes).",
    ]
    for names, command in _commands(typer.main.get_command(app), ()):
        parts.append(f"## {' '.join(names)}")
        parts += [_prose(command.help or "")]
        context = command.make_context(names[-1], [], resilient_parsing=True)
        records = [one.get_help_record(context) for one in command.params if one.name != "help"]
        body = [(code(written), plain(meaning)) for written, meaning in filter(None, records)]
        if body:
            parts.append(rows(("argument or option", "meaning"), body))
    return "\n\n".join(parts) + "\n"


def _commands(command: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        if getattr(inner, "commands", None):
            yield from _commands(inner, (*names, name))
        else:
            yield (*names, name), inner


def _prose(text: str) -> str:
    """A command's help; what it shows of commands is code."""
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]
    shown = [f"```sh\n{one}\n```" if one.startswith("policyloop ") else one for one in paragraphs]
    return "\n\n".join(one if one.startswith("```") else _angles(one) for one in shown)


def _angles(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")


def scenario_keys() -> str:
    """Every table and key of a scenario file: kind, default, what is accepted, meaning."""
    parts = [
        "# Scenario keys",
        "A scenario is a TOML file, run by its path: `policyloop run my.toml`. Unknown keys are refused. "
        "What may stand under `options` of `[environment]` is told by "
        "[each environment](environments.md); agents by [their page](agents.md).",
    ]
    for where, table in _tables("", Scenario):
        parts += [f"## {where or 'The file itself'}", describe.first_sentence(inspect.getdoc(table) or "")]
        told = dict(describe.documented(table, "attribute"))
        body = []
        for key, field in table.model_fields.items():
            kind, meaning = told.get(key, ("", ""))
            default = (
                "required" if field.is_required() else "" if field.default is None else repr(field.default)
            )
            default = "" if field.default_factory is not None else default.replace("'", '"')
            body.append((code(key), code(kind), code(default), _accepted(meaning, field.description)))
        parts.append(rows(("key", "type", "default", "meaning, and what is accepted"), body))
    return "\n\n".join(parts) + "\n"


def _accepted(meaning: str, accepted: str | None) -> str:
    ends = meaning[-1:] in ("", ".")
    return plain(f"{meaning}{'' if ends else '.'} Accepted: {accepted}." if accepted else meaning)


def _tables(where: str, table: type[Table]) -> Iterator[tuple[str, type[Table]]]:
    """A table of the file and all below it, each with how it is written."""
    yield where, table
    for key, field in table.model_fields.items():
        inner = where.strip("[]")
        name = f"{inner}.{key}" if inner else key
        many = "list" in str(field.annotation)
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, Table):
                yield from _tables(f"[[{name}]]" if many else f"[{name}]", kind)


def environments() -> str:
    """Every environment with its options."""
    parts = [
        "# Environments",
        'Given as `options = { .. }` under `[environment]`, or by `--option "KEY=VALUE"`.',
    ]
    for name in simulators.names():
        summary, options = describe.environment_options(name)
        parts += [f"## {name}", plain(summary), _options(options)]
    return "\n\n".join(parts) + "\n"


def agents() -> str:
    """Every agent, and the settings that all of them take."""
    names = ((code(name), plain(describe.agent_summary(name))) for name in optimizer.agent_names())
    return "\n\n".join(
        [
            "# Agents",
            rows(("name", "what it is"), names),
            '## Settings\n\nOf an entry of `agents`: `{ name = "d-gpucb", scale_down = 1 }`.',
            _options(describe.agent_settings()),
            "How they compare: [what the numbers say](../agents.md).\n",
        ]
    )


def _options(options: list[describe.Option]) -> str:
    body = [(code(one.name), code(one.kind), code(one.default), plain(one.meaning)) for one in options]
    return rows(("option", "type", "default", "meaning"), body)


PAPER = {
    "Algorithm 1: decomposed GP regression": (
        """Input: kernels k_j and samples (x_t, y_{j,t}) of every group j
1  for j = 1 .. J:
2      mu_{j,T}, k_{j,T}, sigma^2_{j,T} are the output of GP regression with k_j and (x_t, y_{j,t})
3  return k_T(x, x') = sum_j g_j(x) k_{j,T}(x, x') g_j(x'),  mu_T(x) = sum_j g_j(x) mu_{j,T}(x)""",
        "`observe` is the regression of line 2, a Gaussian process a group, that skips a group's missing "
        "outcomes; `predict_groups` is its output; `predict` is line 3, for the variance on the diagonal.",
        (DecomposedGP.observe, DecomposedGP.predict_groups, DecomposedGP.predict),
    ),
    "Algorithm 2: D-GPUCB": (
        """Input: policies X, priors mu_{j,0}, sigma_{j,0}, k_j of every group
2  for t = 1, 2, ..:
3      compute all mu_{j,t-1} and sigma^2_{j,t-1}
4      mu_{t-1}(x) = sum_j g_j(x) mu_{j,t-1}(x),  sigma^2_{t-1}(x) = sum_j g_j(x)^2 sigma^2_{j,t-1}(x)
5      x_t = argmax over X of mu_{t-1}(x) + sqrt(beta_t) sigma_{t-1}(x)
6      sample y_{j,t} = f_j(x_t) of every group
7      update mu_{j,t} and sigma_{j,t} of every group""",
        "The loop of line 2 is `bridges.Loop`; comments name the lines of the algorithm. "
        "Batches, limits and several objectives pass through the same lines.",
        (GPAgent.ask, GPAgent.tell),
    ),
    "Algorithm 3: a general composition": (
        """as Algorithm 2, but for
4      mu_{t-1}(x) = g(mu_{1,t-1}(x), .., mu_{J,t-1}(x)),
       sigma^2_{t-1}(x) = J sum_j B_j^2 sigma^2_{j,t-1}(x)""",
        'This is `propagation = "bound"`. The others are not the paper\'s: [propagation](../propagation.md).',
        (Bound,),
    ),
}
"""Each algorithm: its lines, what to know before reading its code, and that code."""


def algorithms() -> str:
    """The paper's algorithms, line by line, beside the source that runs them."""
    parts = [
        "# The paper in the code",
        "Outcomes are `f_j`, one a group; `g` composes them into the objective. The source below runs, "
        "copied from its file when this page is built.",
    ]
    for title, (lines, prose, sources) in PAPER.items():
        parts += [f"## {title}", f"```text\n{lines}\n```", prose]
        for source in sources:
            file = Path(inspect.getsourcefile(source) or "").relative_to(ROOT)
            _, first = inspect.getsourcelines(source)
            text = textwrap.dedent(inspect.getsource(source))
            parts.append(f"`{file}`, from line {first}:\n\n```python\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
