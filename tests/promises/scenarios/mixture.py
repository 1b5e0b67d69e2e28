"""Things that happen to a few people and to what lies between them and us, drawn at random."""

import itertools
import random
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from tests.network.gate import Corrupt, Fault, Gate, Stall
from tests.network.meddling import (
    Drop,
    Kind,
    Meddler,
    Repeat,
    Rewrite,
    Shuffle,
    Spoil,
    deleted,
    flipped,
    noise,
    of,
    truncated,
)
from tests.network.pds import Account, Json, Ref, Write
from tests.network.relay import Cut, Refuse
from tests.promises.scenarios.streams import CLOSE_CODES
from tests.promises.scenarios.truth import COLLECTIONS
from tests.promises.scenarios.world import World
from tests.promises.scenarios.writing import comment, like, playlist, publish, track

PEOPLE = 6
STEPS = (5, 10)
ENOUGH_NUMBERS = 2_000

Step = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Person:
    """Somebody of the mixture, what they have written, and whether they may write."""

    account: Account
    held: list[Ref] = field(default_factory=list)
    is_active: bool = True
    has_moved: bool = False


class Mixture:
    """`run` lets a handful of things happen and then leaves all in order; `told` is what happened in it."""

    def __init__(self, world: World, dice: random.Random) -> None:
        self.told: list[str] = []
        self._world = world
        self._dice = dice
        self._people: list[Person] = []
        self._tracks: list[Ref] = []
        self._names = itertools.count(1)
        self._faults = AsyncExitStack()
        self._lost: set[str] = set()  # kinds of events that did not arrive as they were
        self._steps: dict[Step, int] = {
            self._write: 12,
            self._change: 8,
            self._delete: 8,
            self._write_several: 4,
            self._rename: 2,
            self._leave_or_return: 3,
            self._take_down_and_restore: 1,
            self._rotate_key: 2,
            self._move: 1,
            self._end: 1,
            self._meddle: 8,
            self._break_off: 3,
            self._silence: 1,
            self._go_back: 1,
            self._forget: 1,
            self._renumber: 1,
            self._flood: 1,
            self._close_gate: 4,
            self._kill: 3,
        }

    async def run(self) -> None:
        """So many steps, then everything works again and whoever may write shows what was lost."""
        self.told.clear()
        self._lost.clear()
        await self._world.begin()
        while len(self._people) < PEOPLE:
            await self._appear()
        async with AsyncExitStack() as self._faults:
            for _ in range(self._dice.randint(*STEPS)):
                [step] = self._dice.choices([*self._steps], [*self._steps.values()])
                await step()
            await self._world.relay.has_seen_all()
        await self._world.heal()
        self._world.truth.watched |= {person.account.did for person in self._people}
        await self._show_losses()

    async def _show_losses(self) -> None:
        """Lost commits show in the next one; of lost news about accounts only a comparison tells."""
        if not self._lost:
            return
        if self._lost <= {"#commit"} and self._dice.random() < 0.5:
            for person in self._people:
                if person.is_active:
                    person.held.append(await publish(person.account, "After The Loss"))
        else:
            self.told.append("out of sight")
            await self._world.lose_sight()

    def _say(self, what: str, person: Person | None = None) -> None:
        self.told.append(what if person is None else f"{person.account.handle} {what}")

    def _anybody(self) -> Person | None:
        """Somebody who may write."""
        active = [person for person in self._people if person.is_active]
        return self._dice.choice(active) if active else None

    async def _appear(self) -> None:
        person = Person(await self._world.person("mixed", pds=self._dice.randrange(2)))
        self._say("appears", person)
        self._people.append(person)

    def _record(self) -> tuple[str, Json]:
        collections = [COLLECTIONS.track, COLLECTIONS.like, COLLECTIONS.comment, COLLECTIONS.list]
        kind = self._dice.choice(collections) if self._tracks else COLLECTIONS.track
        some = self._dice.sample(self._tracks, min(2, len(self._tracks)))
        if kind == COLLECTIONS.track:
            return kind, track(f"Song {self._dice.randrange(10**6)}")
        if kind == COLLECTIONS.like:
            return kind, like(some[0])
        if kind == COLLECTIONS.comment:
            return kind, comment(some[0], f"remark {self._dice.randrange(10**6)}")
        return kind, playlist(f"List {self._dice.randrange(10**6)}", *some)

    def _hold(self, person: Person, ref: Ref) -> None:
        person.held.append(ref)
        if COLLECTIONS.track in ref.uri:
            self._tracks.append(ref)

    async def _write(self) -> None:
        if person := self._anybody():
            collection, record = self._record()
            self._say(f"writes a {collection}", person)
            self._hold(person, await person.account.create_record(collection, record))

    async def _write_several(self) -> None:
        if person := self._anybody():
            self._say("writes several", person)
            writes = [
                Write("create", COLLECTIONS.track, self._rkey(), track("One Of Many")) for _ in range(3)
            ]
            if person.held:
                gone = person.held.pop(self._dice.randrange(len(person.held)))
                collection, rkey = gone.uri.split("/")[3:]
                writes.append(Write("delete", collection, rkey))
            for ref in await person.account.apply_writes(*writes):
                self._hold(person, ref)

    def _rkey(self) -> str:
        return "3" + "".join(self._dice.choices("234567abcdefghij", k=11)) + "2"

    async def _change(self) -> None:
        if (person := self._anybody()) and person.held:
            ref = self._dice.choice(person.held)
            collection, rkey = ref.uri.split("/")[3:]
            record = self._record_of(collection)
            self._say(f"changes {collection}/{rkey}", person)
            await person.account.put_record(collection, rkey, record)

    def _record_of(self, collection: str) -> Json:
        while True:
            kind, record = self._record()
            if kind == collection:
                return record if self._dice.random() < 0.9 else {"broken": True}

    async def _delete(self) -> None:
        if (person := self._anybody()) and person.held:
            ref = person.held.pop(self._dice.randrange(len(person.held)))
            collection, rkey = ref.uri.split("/")[3:]
            self._say(f"deletes {collection}/{rkey}", person)
            await person.account.delete_record(collection, rkey)

    async def _rename(self) -> None:
        if person := self._anybody():
            self._say("is renamed", person)
            await person.account.change_handle(f"named-{next(self._names)}.test")

    async def _leave_or_return(self) -> None:
        person = self._dice.choice(self._people)
        self._say("leaves" if person.is_active else "returns", person)
        await (person.account.deactivate() if person.is_active else person.account.activate())
        person.is_active = not person.is_active

    async def _take_down_and_restore(self) -> None:
        if person := self._anybody():
            self._say("is taken down and restored", person)
            await person.account.pds.set_takedown(person.account.did, True)
            await person.account.pds.set_takedown(person.account.did, False)

    async def _rotate_key(self) -> None:
        if person := self._anybody():
            self._say("has another key", person)
            await person.account.pds.rotate_key(person.account.did)

    async def _move(self) -> None:
        """Once: a server that has an account does not take it anew."""
        person = self._anybody()
        if person and not person.has_moved:
            self._say("moves", person)
            [there] = [pds for pds in self._world.net.pds if pds.url != person.account.pds.url]
            person.account = await person.account.migrate(there)
            person.has_moved = True

    async def _end(self) -> None:
        person = self._dice.choice(self._people)
        self._say("deletes the account", person)
        self._people.remove(person)
        self._world.truth.watched.add(person.account.did)
        await person.account.delete_account()

    async def _meddle(self) -> None:
        person = self._dice.choice(self._people)
        whose = (person.account.did,) if self._dice.random() < 0.7 else ()
        everything: tuple[Kind, ...] = ("#commit", "#sync", "#account", "#identity")
        kinds: tuple[Kind, ...] = self._dice.choice([("#commit",), everything])
        concerns = of(*whose, kinds=kinds)
        choices: list[Meddler] = [
            Drop(concerns),
            Drop(concerns),
            Repeat(concerns),
            Shuffle(concerns, self._dice.randint(2, 5), self._dice),
            Spoil(concerns, self._dice.choice([truncated, noise])),
            Spoil(of(*whose, kinds=("#commit",)), flipped),
            Rewrite(of(*whose, kinds=("#account",)), deleted),
        ]
        meddler = self._dice.choice(choices)
        self._say(f"{type(meddler).__name__} {kinds} of {person.account.handle if whose else 'all'}")
        if isinstance(meddler, Drop | Spoil):
            self._lost |= set(kinds)
        elif isinstance(meddler, Shuffle):
            # The first commit of somebody who has left may come after the news that they left.
            self._lost |= {"#account"}
        await self._faults.enter_async_context(self._world.relay.meddling(meddler))

    async def _break_off(self) -> None:
        code = self._dice.choice([None, *CLOSE_CODES])
        self._say(f"the relay closes with {code}")
        if code is None:
            self._world.relay.cut()
        else:
            await self._world.relay.disconnect(code)

    async def _silence(self) -> None:
        self._say("the relay falls silent")
        await self._world.relay.stall()

    async def _go_back(self) -> None:
        self._say("the relay goes back")
        self._world.relay.rewind(self._dice.randrange(100))
        await self._world.relay.disconnect(1011)

    async def _forget(self) -> None:
        self._say("the relay forgets")
        await self._world.lose_sight()

    async def _renumber(self) -> None:
        """Only what has counted far can be seen to count anew."""
        if self._world.relay.newest > ENOUGH_NUMBERS:
            self._say("the relay counts anew")
            await self._world.relay.renumber()

    async def _flood(self) -> None:
        self._say("a flood")
        await self._world.relay.flood(3_000)

    async def _close_gate(self) -> None:
        gates: dict[str, Gate] = {"directory": self._world.plc, "names": self._world.names}
        gates |= {f"server {number}": gate for number, gate in enumerate(self._world.servers)}
        name = self._dice.choice([*gates])
        faults: list[Fault] = [Refuse(503), Refuse(500), Stall(0.3), Cut(20)]
        if name not in ("directory", "names"):  # nobody could tell their answers from true ones
            faults.append(Corrupt())
        fault = self._dice.choice(faults)
        times = self._dice.choice([1, 3, 1000])
        self._say(f"{name}: {fault}, {times} times")
        gates[name].faults = itertools.repeat(fault, times)

    async def _kill(self) -> None:
        how = self._dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        self._say(f"the indexer ends by {how.name}")
        await self._world.restart(how)
