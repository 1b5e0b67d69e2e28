"""Sort keys sort as they should and fit their fields."""

import tantivy
from hypothesis import given
from hypothesis import strategies as st

from schemas import search_index
from schemas.search_index import COUNT_SHIFT, popular_key, recent_key, round_count

IDS = st.integers(0, 2**53 - 1)


@given(st.integers(0, 2**41 - 1), st.integers(0, 2**41 - 1), IDS, IDS)
def test_recent_keys_sort_by_time_first(earlier, later, one, other):
    """Whatever the ids are."""
    if earlier < later:
        assert recent_key(earlier, one) < recent_key(later, other)


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), IDS, IDS)
def test_popular_keys_sort_by_count_first(fewer, more, one, other):
    """Whatever the ids are; the count can be read back."""
    if fewer < more:
        assert popular_key(fewer, one) < popular_key(more, other)
    assert popular_key(more, one) >> COUNT_SHIFT == more


@given(st.integers(-(2**63), 2**80), IDS)
def test_keys_fit_their_fields(number, record_id):
    """Absurd times and counts are taken for the nearest that fit."""
    assert 0 <= recent_key(number, record_id) < 2**64
    assert 0 <= popular_key(number, record_id) < 2**64


def test_a_search_knows_counts_in_steps():
    """Few are told apart, many by their magnitude; no step goes down."""
    assert [round_count(count) for count in range(18)] == [0, 1, 2, 3, *[4] * 4, *[8] * 8, *[16] * 2]


def test_each_tokenizer_of_the_schemas_is_registered():
    """An index whose tokenizers are unknown refuses documents."""
    index = tantivy.Index(search_index.words_schema())
    search_index.register_tokenizers(index)
    writer = index.writer(15_000_000, 1)

    writer.add_document(tantivy.Document.from_dict({"title": "a b", "title_starts": ["ab"]}, index.schema))
    writer.commit()
    index.reload()

    starts = tantivy.Query.term_query(index.schema, "title_starts", "a", "basic")
    assert index.searcher().search(starts).count == 1
