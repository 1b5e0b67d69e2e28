"""Rare words count more than common ones, and additions less."""

from readapi.index.search.weights import ENOUGH, STEPS, essential_words, relaxed_step, weigh_words


def test_a_rare_word_counts_more_than_three_common_ones():
    """Held by ten of 100,000 names, beside words that one in five holds."""
    rare, *common = weigh_words([10, 20_000, 20_000, 20_000], [1, 1, 1, 1], 100_000)

    assert rare > sum(common)


def test_a_word_that_no_name_holds_counts_less_than_the_others():
    """It is more likely wrong than rare."""
    known, other, unknown = weigh_words([50, 50, 0], [1, 1, 1], 100_000)

    assert unknown < known == other
    assert weigh_words([0], [1], 100_000) > [0]


def test_without_its_essential_words_nothing_explains_enough():
    """So matches are looked for among documents that hold one of them."""
    for weights in ([5.0, 1.0, 3.0, 2.0], [1.0], [1.0] * 9, [0.1, 7.0, 0.1]):
        needed = essential_words(weights)

        without = sum(weight for position, weight in enumerate(weights) if position not in needed)
        assert needed
        assert without < ENOUGH * sum(weights)


def test_steps_follow_what_is_explained():
    """First by the share, then by the length of the name; less than enough is no match."""
    steps = [relaxed_step(share, fits) for share in (1.2, 1.0, 0.8, 0.5) for fits in (True, False)]

    assert steps == [0, 1, *sorted(steps[2:])]
    assert max(step for step in steps if step is not None) <= STEPS
    assert relaxed_step(ENOUGH - 0.01, True) is None
