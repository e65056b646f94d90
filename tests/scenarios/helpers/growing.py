"""A study that grows while a test looks on: the rounds of a finished one, written to another file."""

from scenarios.study.store import Store


def begun(source, path):
    """A store of a new study with all that a finished one has before its first round."""
    store = Store(path)
    store.set_meta(source.meta)
    for run in source.runs:
        store.log_run(run)
    for key, world in source.worlds.items():
        store.set_world(key, world)
    return store
