"""A PDS on loopback and the accounts on it, as their owners and its operator use them."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import aiohttp

Json = dict[str, Any]


class XrpcError(Exception):
    """A server refused; the message holds its status and its own words."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A written record: its address and the hash of this version."""

    uri: str
    cid: str

    @property
    def strong(self) -> Json:
        """The form that other records point with."""
        return {"uri": self.uri, "cid": self.cid}

    @property
    def rkey(self) -> str:
        return self.uri.rsplit("/", 1)[1]


@dataclass(frozen=True, slots=True)
class Write:
    """One operation of `Account.apply_writes`; a delete needs no record."""

    action: Literal["create", "update", "delete"]
    collection: str
    rkey: str
    record: Mapping[str, Any] | None = None

    def as_json(self) -> Json:
        operation: Json = {
            "$type": f"com.atproto.repo.applyWrites#{self.action}",
            "collection": self.collection,
            "rkey": self.rkey,
        }
        if self.record is not None:
            operation["value"] = {"$type": self.collection, **self.record}
        return operation


@dataclass(slots=True)
class Pds:
    """One server, spoken to over XRPC."""

    url: str
    operator_url: str  # where its console is, for the deed put in place of {}
    admin_password: str
    session: aiohttp.ClientSession = field(repr=False)
    answered: float = field(default_factory=time.perf_counter)  # its last acceptance of a write

    @property
    def relay_url(self) -> str:
        """A PDS is a relay of its own accounts: where its firehose is."""
        return self.url.replace("http://", "ws://", 1)

    async def create_account(
        self, handle: str, did: str | None = None, token: str | None = None
    ) -> "Account":
        """Sign somebody up; handles end in `.test` and have at least three characters before it.

        Whoever brings a DID proves it with a token of their present server, and begins deactivated.
        """
        body = {"handle": handle, "email": f"{handle}@example.com", "password": password_of(handle)}
        login = {"Authorization": f"Bearer {token}"} if token else {}
        made = await self.post(
            "com.atproto.server.createAccount", body | ({"did": did} if did else {}), login
        )
        return Account(self, made["did"], made["handle"], {"Authorization": f"Bearer {made['accessJwt']}"})

    async def set_takedown(self, did: str, applied: bool) -> None:
        """What a moderator does to a whole account."""
        subject = {"$type": "com.atproto.admin.defs#repoRef", "did": did}
        body = {"subject": subject, "takedown": {"applied": applied, "ref": "moderation"}}
        await self.as_admin("com.atproto.admin.updateSubjectStatus", body)

    async def rotate_key(self, did: str) -> None:
        """Sign with another key from now on, and say so in the directory and on the stream."""
        await self._operate("rotate-key", did)

    async def mailed_code(self, did: str) -> str:
        """What the owner finds in their mailbox after asking to sign an operation on their identity."""
        return await self._operate("mailed-code", did)

    async def age_grants(self, did: str) -> None:
        """Let everything that the account agreed to have been long ago."""
        await self._operate("age-grants", did)

    async def look_up_lexicons_of(self, did: str) -> None:
        """Read permission sets from this account's repo, whoever they belong to."""
        await self._operate("lexicon-authority", did)

    @asynccontextmanager
    async def hung_up(self) -> AsyncIterator[None]:
        """The server is gone while the block runs."""
        await self._operate("hang-up", "")
        try:
            yield
        finally:
            await self._operate("come-back", "")

    async def as_admin(self, method: str, body: Json) -> Json:
        """Call a procedure with the operator's password."""
        login = aiohttp.encode_basic_auth("admin", self.admin_password)
        return await self.post(method, body, {"Authorization": login})

    async def get(self, method: str, login: Mapping[str, str] | None = None, **params: str) -> Json:
        """Call a query, most of which need no signing in."""
        async with self.session.get(f"{self.url}/xrpc/{method}", params=params, headers=login) as response:
            return await _answer(method, response)

    async def get_repo(self, did: str) -> bytes:
        """A repo whole, as a CAR."""
        address = f"{self.url}/xrpc/com.atproto.sync.getRepo"
        async with self.session.get(address, params={"did": did}) as response:
            if response.status != 200:
                raise XrpcError(f"getRepo: {response.status} {await response.text()}")
            return await response.read()

    async def post(self, method: str, body: Json | bytes | None, headers: Mapping[str, str]) -> Json:
        """Call a procedure with JSON, with nothing, or with bytes whose Content-Type is in the headers."""
        sent: Any = {"data": body} if isinstance(body, bytes) else {"json": body} if body is not None else {}
        async with self.session.post(f"{self.url}/xrpc/{method}", headers=headers, **sent) as response:
            answer = await _answer(method, response)
        self.answered = time.perf_counter()
        return answer

    async def _operate(self, deed: str, did: str) -> str:
        async with self.session.post(f"{self.operator_url.format(deed)}/{did}") as response:
            text = await response.text()
            if response.status != 200:
                raise XrpcError(f"{deed}: {response.status} {text}")
        self.answered = time.perf_counter()
        return text


@dataclass(slots=True)
class Account:
    """Somebody signed in at a PDS, doing what an application would do for them."""

    pds: Pds
    did: str
    handle: str
    login: Mapping[str, str] = field(repr=False)

    @property
    def password(self) -> str:
        return password_of(self.handle)

    async def create_record(self, collection: str, record: Mapping[str, Any], rkey: str | None = None) -> Ref:
        """Write a new record, under a key of the server's choosing unless one is given."""
        key = {} if rkey is None else {"rkey": rkey}
        made = await self._repo("createRecord", {"collection": collection, **key}, record)
        return Ref(made["uri"], made["cid"])

    async def put_record(self, collection: str, rkey: str, record: Mapping[str, Any]) -> Ref:
        """Write a record whole, whether or not it was there."""
        made = await self._repo("putRecord", {"collection": collection, "rkey": rkey}, record)
        return Ref(made["uri"], made["cid"])

    async def delete_record(self, collection: str, rkey: str) -> None:
        await self._repo("deleteRecord", {"collection": collection, "rkey": rkey})

    async def apply_writes(self, *writes: Write) -> list[Ref]:
        """Several operations in one commit; what was written, in order, without the deletes."""
        made = await self._repo("applyWrites", {"writes": [write.as_json() for write in writes]})
        return [Ref(result["uri"], result["cid"]) for result in made["results"] if "uri" in result]

    async def upload_blob(self, content: bytes, media_type: str) -> Json:
        """Store a file; the answer is the blob as a record embeds it."""
        headers = {**self.login, "Content-Type": media_type}
        blob: Json = (await self.pds.post("com.atproto.repo.uploadBlob", content, headers))["blob"]
        return blob

    async def change_handle(self, handle: str) -> None:
        await self.pds.post("com.atproto.identity.updateHandle", {"handle": handle}, self.login)
        self.handle = handle

    async def deactivate(self) -> None:
        await self.pds.post("com.atproto.server.deactivateAccount", {}, self.login)

    async def activate(self) -> None:
        await self.pds.post("com.atproto.server.activateAccount", None, self.login)

    async def migrate(self, to: Pds) -> "Account":
        """Move to another server: an account there, the repo, the identity, and the switch.

        https://atproto.com/guides/account-migration
        """
        audience = (await to.get("com.atproto.server.describeServer"))["did"]
        moved = await to.create_account(self.handle, self.did, await self._service_token(audience))
        await to.post(
            "com.atproto.repo.importRepo",
            await self.pds.get_repo(self.did),
            {**moved.login, "Content-Type": "application/vnd.ipld.car"},
        )
        await self._hand_over(moved)
        await moved.activate()
        await self.deactivate()
        return moved

    async def _service_token(self, audience: str) -> str:
        """What proves to another server who asks it for an account."""
        method = {"aud": audience, "lxm": "com.atproto.server.createAccount"}
        answer = await self.pds.get("com.atproto.server.getServiceAuth", self.login, **method)
        return str(answer["token"])

    async def _hand_over(self, moved: "Account") -> None:
        """Let the directory name the other server and the key that it signs with."""
        wanted = await moved.pds.get("com.atproto.identity.getRecommendedDidCredentials", moved.login)
        code = await self.pds.mailed_code(self.did)
        signed = await self.pds.post(
            "com.atproto.identity.signPlcOperation", {"token": code, **wanted}, self.login
        )
        await moved.pds.post("com.atproto.identity.submitPlcOperation", signed, moved.login)

    async def delete_account(self) -> None:
        """Gone for good; the operator does it, because the owner would need a mailed code."""
        await self.pds.as_admin("com.atproto.admin.deleteAccount", {"did": self.did})

    async def _repo(self, method: str, body: Json, record: Mapping[str, Any] | None = None) -> Json:
        content = {} if record is None else {"record": {"$type": body["collection"], **record}}
        sent = {"repo": self.did, **body, **content}
        return await self.pds.post(f"com.atproto.repo.{method}", sent, self.login)


def password_of(handle: str) -> str:
    """What everybody here chose."""
    return f"password of {handle}"


async def _answer(method: str, response: aiohttp.ClientResponse) -> Json:
    if response.status != 200:
        raise XrpcError(f"{method}: {response.status} {await response.text()}")
    answer: Json = await response.json() if response.content_type == "application/json" else {}
    return answer
