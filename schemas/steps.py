"""What carries the catalogue's tables from one version to the next: SQL, in the order of the versions.

To change `tables.sql`: first keep a catalogue of the present version with
`python -m tests.indexer.old_catalogues`, then change the tables and add a step here. New columns come last in
their table, in both places. All steps run in one transaction, in which there are no views; `tables.sql` comes
after them and makes the views, and new tables. A step that was released is never edited. None as a step: rows
cannot be carried over.
"""

from collections.abc import Mapping
from typing import Final

Step = tuple[str, ...]

STEPS: Final[Mapping[int, Step | None]] = {
    3: (
        # Without primary keys: a full disk could leave one that refused rows which were not there.
        "create table meta_3 (name varchar not null, value varchar not null)",
        "insert into meta_3 select name, value from meta",
        "drop table meta",
        "alter table meta_3 rename to meta",
        "create table cursors_3 (source varchar not null, seq bigint not null, event_time timestamp)",
        "insert into cursors_3 select source, seq, event_time from cursors",
        "drop table cursors",
        "alter table cursors_3 rename to cursors",
        # A full disk that took the cursor may have taken more: every repo is fetched again.
        """
        update repos set state = 'desynchronized', must_fetch = true, reason = 'the cursor was lost'
        where not exists (select 1 from cursors)
        """,
        "delete from discoveries where not exists (select 1 from cursors)",
    ),
    # What records say of it is known of those that are read from now on.
    4: ("alter table tracks add column updated_at timestamp",),
    5: (),  # the table of takedowns is new
    6: (),  # the table of the change log is new
    7: (),  # the tables of labels are new
}

VERSION: Final = max(STEPS)


def steps_from(version: int) -> list[Step] | None:
    """The steps from this version to ours, in order; None if such a catalogue cannot be migrated."""
    wanted = [STEPS.get(number) for number in range(version + 1, VERSION + 1)]
    steps = [step for step in wanted if step is not None]
    return steps if len(steps) == len(wanted) else None
