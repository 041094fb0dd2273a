"""What every test shares: the test bed's fixtures, and how hypothesis searches."""

from hypothesis import settings

pytest_plugins = ["thalweg_testbed.pytest_plugin"]

# The same examples on every run: a test that fails only sometimes stops everyone's work.
# `pytest --hypothesis-profile=explore` looks further.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("repeatable")
