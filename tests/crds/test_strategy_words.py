"""The words that the API accepts are the strategies that there are."""

from crds.topology import STRATEGIES as WORDS
from thalweg_scheduling.strategies import STRATEGIES


def test_every_word_of_the_api_is_a_strategy() -> None:
    assert sorted(WORDS) == sorted(STRATEGIES)
