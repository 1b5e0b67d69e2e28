"""A headless Chromium, driven over its own debugging protocol: pages in, what they did and showed out."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import aiohttp

from tests.patience import PATIENCE_SECONDS

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--mute-audio",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)

_MOST_TABS = 80

Message = dict[str, Any]


def find_chromium() -> str | None:
    """The path of an installed Chromium, if there is one."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Browser:
    """One running Chromium and the connection to it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._pages: dict[str, Page] = {}
        self._targets: list[str] = []

    async def listen(self) -> None:
        """Hand every message to whoever waits for it."""
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                waiting = self._waiting.pop(said["id"], None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(said)
            elif page := self._pages.get(said.get("sessionId", "")):
                page.hear(said["sessionId"], said["method"], said["params"])

    async def call(self, method: str, session: str | None = None, **parameters: object) -> Message:
        """Ask one thing, and wait for the answer."""
        number = next(self._numbers)
        asked: Message = {"id": number, "method": method, "params": parameters}
        if session:
            asked["sessionId"] = session
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_str(json.dumps(asked))
        said = await asyncio.wait_for(waiting, PATIENCE_SECONDS)
        if "error" in said:
            raise RuntimeError(f"{method}: {said['error']['message']}")
        result: Message = said["result"]
        return result

    async def profile(self) -> str:
        """Somebody else's browser, as far as cookies go: to open pages in."""
        return str((await self.call("Target.createBrowserContext"))["browserContextId"])

    async def page(
        self,
        url: str,
        width: int = 900,
        height: int = 700,
        *,
        scripts: bool = True,
        profile: str | None = None,
    ) -> "Page":
        """Open an address in a tab of its own and wait until it has loaded."""
        within = {} if profile is None else {"browserContextId": profile}
        target = await self.call("Target.createTarget", url="about:blank", **within)
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._targets.append(target["targetId"])
        page = Page(self, attached["sessionId"])
        await self.follow(page, page.session)
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await page.call("Emulation.setDeviceMetricsOverride", **metrics)
        await page.paint("light")
        await page.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        await page.call("Page.navigate", url=url)
        await asyncio.wait_for(page.loaded.wait(), PATIENCE_SECONDS)
        return page

    async def close_pages(self) -> None:
        """Close every tab that was opened."""
        self._pages.clear()
        while self._targets:
            await self.call("Target.closeTarget", targetId=self._targets.pop())

    async def follow(self, page: "Page", session: str) -> None:
        """Hear what a tab, or a frame that runs apart from it, has to say."""
        self._pages[session] = page
        for domain in ("Page", "Runtime", "Log"):
            await self.call(f"{domain}.enable", session)
        options = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        await self.call("Target.setAutoAttach", session, **options)
        await self.call("Runtime.runIfWaitingForDebugger", session)


class Page:
    """One tab. `complaints` are its errors, warnings and refused loads, frames included."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.session = session
        self.frames: list[str] = []
        self.complaints: list[str] = []
        self.loaded = asyncio.Event()
        self._browser = browser
        self._framed = asyncio.Event()
        self._following: set[asyncio.Task[None]] = set()

    def hear(self, session: str, method: str, told: Message) -> None:
        """Take note of one event."""
        match method:
            case "Page.loadEventFired" if session == self.session:
                self.loaded.set()
            case "Target.attachedToTarget" if told["targetInfo"]["type"] == "iframe":
                task = asyncio.ensure_future(self._join(told["sessionId"]))
                self._following.add(task)
                task.add_done_callback(self._following.discard)
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}".strip())
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.complaints.append(str([value.get("value") for value in told["args"]]))
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"].get("exception", told)))

    async def _join(self, session: str) -> None:
        await self._browser.follow(self, session)
        self.frames.append(session)
        self._framed.set()

    async def call(self, method: str, **parameters: object) -> Message:
        """Ask the tab one thing."""
        return await self._browser.call(method, self.session, **parameters)

    async def evaluate(self, expression: str, session: str | None = None) -> Any:
        """The value of a JavaScript expression, awaited if it is a promise."""
        options = {"expression": expression, "awaitPromise": True, "returnByValue": True, "userGesture": True}
        said = await self._browser.call("Runtime.evaluate", session or self.session, **options)
        if "exceptionDetails" in said:
            raise RuntimeError(str(said["exceptionDetails"].get("exception", said)))
        return said["result"].get("value")

    async def until(self, expression: str, session: str | None = None) -> None:
        """Wait until an expression is true."""
        look = f"const look = () => ({expression}) ? resolve(true) : setTimeout(look, 20); look();"
        await self.evaluate(f"new Promise((resolve) => {{ {look} }})", session)

    async def frame(self) -> str:
        """The session of the first frame that runs apart, once it has loaded."""
        await asyncio.wait_for(self._framed.wait(), PATIENCE_SECONDS)
        await self.until(
            "location.protocol !== 'about:' && document.readyState === 'complete'", self.frames[0]
        )
        return self.frames[0]

    async def press(self, key: str, session: str | None = None) -> None:
        """Press and let go of one key."""
        text = {"Space": " ", "Enter": "\r"}.get(key)
        named = {"key": " " if key == "Space" else key, "code": key}
        code = {
            "Tab": 9,
            "Enter": 13,
            "Escape": 27,
            "Space": 32,
            "ArrowLeft": 37,
            "ArrowRight": 39,
            "ArrowDown": 40,
        }[key]
        down: Message = {"type": "keyDown" if text else "rawKeyDown", "windowsVirtualKeyCode": code, **named}
        if text:
            down["text"] = text
        await self._browser.call("Input.dispatchKeyEvent", session or self.session, **down)
        up = {"type": "keyUp", "windowsVirtualKeyCode": code, **named}
        await self._browser.call("Input.dispatchKeyEvent", session or self.session, **up)

    async def focused(self) -> tuple[str, str]:
        """The role and the name of what has the focus, as a screen reader is told them."""
        held = await self.call("Runtime.evaluate", expression="document.activeElement")
        found = await self.call(
            "Accessibility.getPartialAXTree", objectId=held["result"]["objectId"], fetchRelatives=False
        )
        node = found["nodes"][0]
        return str(node["role"]["value"]), str(node.get("name", {}).get("value", ""))

    async def tab_to(self, role: str, name: str) -> None:
        """Press Tab until the focus is on what has this role, and a name that begins so."""
        passed = []
        for _ in range(_MOST_TABS):
            await self.press("Tab")
            passed.append(await self.focused())
            if passed[-1][0] == role and passed[-1][1].startswith(name):
                return
        raise AssertionError(f"no {role} {name!r} among {passed}")

    async def type(self, text: str) -> None:
        """Type into what has the focus, and send it."""
        await self.call("Input.insertText", text=text)
        await self.press("Enter")

    async def drag(self, start: str, end: str) -> None:
        """Drag with the mouse from the middle of one element to the upper edge of another."""
        middle = (
            "(({ left, top, width, height }) => [left + width / 2, top + height / 2])"
            f"(document.querySelector({json.dumps(start)}).getBoundingClientRect())"
        )
        edge = (
            "(({ left, top, width }) => [left + width / 2, top + 2])"
            f"(document.querySelector({json.dumps(end)}).getBoundingClientRect())"
        )
        for kind, place in (
            ("mouseMoved", middle),
            ("mousePressed", middle),
            ("mouseMoved", edge),
            ("mouseReleased", edge),
        ):
            x, y = await self.evaluate(place)
            held = {"button": "left", "buttons": 1, "clickCount": 1} if kind != "mouseMoved" else {}
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **held)

    async def paint(self, scheme: Literal["light", "dark"]) -> None:
        """Let it be light or dark around."""
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        await self.call("Emulation.setEmulatedMedia", features=[preferred])

    async def fill(self, field: str, text: str) -> None:
        """Type into the field that a selector finds, in place of what is there."""
        await self.until(f"document.querySelector({json.dumps(field)})")
        await self.evaluate(f"document.querySelector({json.dumps(field)}).focus()")
        await self.evaluate("document.activeElement.select()")
        await self.call("Input.insertText", text=text)

    async def choose_file(self, field: str, *paths: Path) -> None:
        """Choose a file in the field that a selector finds, or several."""
        await self.until(f"document.querySelector({json.dumps(field)})")
        root = await self.call("DOM.getDocument")
        found = await self.call("DOM.querySelector", nodeId=root["root"]["nodeId"], selector=field)
        await self.call("DOM.setFileInputFiles", nodeId=found["nodeId"], files=list(map(str, paths)))

    async def click(self, words: str) -> None:
        """Press the button, link or summary with these words, once it is there to be pressed."""
        button = (
            "[...document.querySelectorAll('button, a, summary')].find((one) =>"
            f" one.textContent.trim() === {json.dumps(words)} && !one.disabled && one.offsetHeight)"
        )
        await self.until(button)
        await self.evaluate(f"{button}.click()")

    async def open(self, address: str) -> None:
        """Lead the tab to another address, and wait until what it shows has loaded."""
        self.loaded.clear()
        await self.call("Page.navigate", url=address)
        await asyncio.wait_for(self.loaded.wait(), PATIENCE_SECONDS)

    async def arrive(self, address: str) -> str:
        """Wait until the tab shows a page whose address begins so; returns the whole address."""
        there = (
            f"document.readyState === 'complete' && location.href.startsWith({json.dumps(address)})"
            " ? location.href : null"
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                with contextlib.suppress(RuntimeError):  # between two pages there is none to ask
                    if (found := await self.evaluate(there)) is not None:
                        return str(found)
                await asyncio.sleep(0.02)

    async def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write what the tab shows as a PNG."""
        said = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(said["data"]))


@contextlib.asynccontextmanager
async def launched(chromium: str) -> AsyncIterator[Browser]:
    """Run a Chromium with an empty profile for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        quiet = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            chromium, *_FLAGS, f"--user-data-dir={profile}", "about:blank",
            stdout=quiet, stderr=quiet, env={**os.environ, "HOME": profile},
        )  # fmt: skip
        try:
            address = await _address(Path(profile) / "DevToolsActivePort", process)
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(address, max_msg_size=0) as socket,
            ):
                browser = Browser(socket)
                listening = asyncio.ensure_future(browser.listen())
                yield browser
                with contextlib.suppress(RuntimeError, TimeoutError):
                    await browser.call("Browser.close")
                listening.cancel()
        finally:
            await _stop(process)


async def _address(announced: Path, process: asyncio.subprocess.Process) -> str:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (announced.exists() and len(lines := announced.read_text().splitlines()) == 2):
            if process.returncode is not None:
                raise RuntimeError(f"chromium ended with {process.returncode}")
            await asyncio.sleep(0.05)
    port, path = lines
    return f"ws://127.0.0.1:{port}{path}"


async def _stop(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), 5)
    except TimeoutError:
        process.kill()
        await process.wait()
