"""Lets every Python process that has this folder on its path know the environment `faulty`."""

import simulators

simulators.register("faulty", "faulty_world:Faulty")
