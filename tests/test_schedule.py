"""Files that need the same slow servers run in one process."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import schedule

TESTS = Path(__file__).parent


@pytest.mark.parametrize(
    ("file", "group"),
    [
        ("features/pages/test_portal.py", schedule.BROWSER),  # asks for both
        ("features/pages/test_browser.py", schedule.BROWSER),
        ("features/publishing/test_uploads.py", schedule.SERVICE),
        ("features/publishing/test_replacing.py", schedule.SERVICE),
        ("fmsvc/test_live.py", schedule.CLIENT),
        ("promises/test_examples.py", None),  # has a service of its own
        ("schemas/test_ids.py", None),
    ],
)
def test_a_file_is_in_the_group_of_what_it_asks_for(file, group):
    """Tests and fixtures ask by the names of their parameters."""
    assert (TESTS / file).exists()
    assert schedule.group(TESTS / file) == group


@pytest.mark.parametrize(
    ("file", "following", "is_over"),
    [
        ("features/publishing/test_uploads.py", "features/publishing/test_uploads.py", False),
        ("features/publishing/test_uploads.py", "features/publishing/test_replacing.py", False),
        ("features/publishing/test_uploads.py", "features/pages/test_portal.py", True),
        ("features/publishing/test_uploads.py", "schemas/test_ids.py", True),
        ("features/publishing/test_uploads.py", None, True),
        ("schemas/test_ids.py", "features/publishing/test_uploads.py", False),
        ("schemas/test_ids.py", None, False),
    ],
)
def test_a_group_is_over_with_its_last_test(file, following, is_over):
    """The whole service, which it shares, is stopped then."""
    item, next_item = (
        SimpleNamespace(path=TESTS / file),
        following and SimpleNamespace(path=TESTS / following),
    )
    assert schedule.is_over(item, next_item) == is_over
