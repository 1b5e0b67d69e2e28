"""Files that need the same slow servers run in one process."""

from pathlib import Path

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
