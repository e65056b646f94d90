"""The pictures of the report and of the what-if panel, docs/report.png and docs/watch.png.

    python -m benchmarks.pictures [FOLDER]

A flu of 3 trials of 25 rounds is run, its report written, and its page asked for ten sick days of 70+ in
place of one; a Chromium with its chromedriver takes the pictures (light, 1,400 pixels).
"""

import base64
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "scenarios" / "helpers"))

from browsing import chromium, looks, opened

import scenarios
from scenarios.watching.following import Follower
from scenarios.watching.panel import Panel
from scenarios.watching.story import Story

FACTORS = [0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20]
"""What weights can be multiplied with on the page."""
DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    with TemporaryDirectory() as made:
        agents = ["d-gpucb", "gp-ucb", "current"]
        flu = scenarios.load("flu", {"trials": 3, "rounds": 25, "samples": 0, "agents": agents})
        study = scenarios.run(flu, out=Path(made) / "flu.sqlite")
        driver = chromium()
        try:
            looks(driver)
            driver.get(scenarios.report(study, Path(made) / "flu.html").as_uri())
            take(driver, folder / "report.png", 1500)
            ask(driver, study.path, folder / "watch.png")
        finally:
            driver.quit()


def ask(driver, path: Path, out: Path) -> None:
    story, panel = Story(Follower(path)), Panel(path)
    calls = {"rounds": story.new_rounds, "begin": panel.begin, "answer": panel.answer}
    with opened(driver, "study.html", calls | {"frontier": panel.trade_offs}) as page:
        page.until_says("#state", "finished")
        page.find("#tab-ask").click()
        page.until(lambda: page.all("#weight-4"))
        page.slide("#weight-4", FACTORS.index(10))
        page.until_says("output[for=weight-4]", "10")
        page.until(lambda: page.all("#frontier path"))
        take(driver, out, 1300)


def take(driver, out: Path, height: int) -> None:
    clip = {"x": 0, "y": 0, "width": 1400, "height": height, "scale": 1}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    out.write_bytes(base64.b64decode(taken["data"]))
    print(out)


if __name__ == "__main__":
    main()
