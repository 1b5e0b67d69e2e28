"""Facts that we fetch ourselves, put into the batch like any event: identities, sizes of pictures."""

from indexer import images
from indexer.batch import ImageFact, Picture
from indexer.identity import Resolver
from indexer.intake import Intake
from indexer.outbound import Outbound, Unreachable
from indexer.repos import Repos
from schemas.ids import Did


class Facts:
    """Each method is an errand: raises OutboundError when the network has to be asked again later."""

    def __init__(self, resolver: Resolver, outbound: Outbound, intake: Intake, repos: Repos) -> None:
        self._resolver = resolver
        self._outbound = outbound
        self._intake = intake
        self._repos = repos

    async def identity(self, did: Did) -> None:
        """Handle and server of an account."""
        facts = await self._resolver.resolve(did)
        await self._intake.room()
        if not self._resolver.holds(facts):
            return  # An #identity came meanwhile; its commit asks again.
        self._repos.learn(did, facts.signing_key, facts.pds)
        self._intake.batch.identities.append(facts)
        self._intake.added(1)
        if facts.handle is None:
            raise Unreachable("the handle cannot be checked")

    async def picture(self, picture: Picture) -> None:
        """Width and height of a picture."""
        width, height = await images.measure(self._resolver, self._outbound, picture)
        await self._intake.room()
        self._intake.batch.images.append(ImageFact(picture.cid, width, height))
        self._intake.added(1)
