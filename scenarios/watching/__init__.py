"""A live page in the browser: a study as it grows, what-if with sliders, and models that step."""
