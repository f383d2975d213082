"""A headless Chromium that opens a page, in a scheme and a width of choice."""

import base64
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_MOST_STOPS = 500
_PATIENCE = 30.0


class NoBrowserError(Exception):
    """Chromium or its driver is not installed."""


def _program(*names: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise NoBrowserError(
            f"{names[0]} is not installed; on Debian and Ubuntu: apt-get install -y chromium chromium-driver"
        )
    return found


class Browser:
    """Chromium under the hands of a test; end it with `close`."""

    def __init__(self) -> None:
        """Start it, without a window and without a network of its own."""
        options = webdriver.ChromeOptions()
        options.binary_location = _program(*_CHROMIUM)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        flags = ["--headless=new", "--hide-scrollbars", "--disable-gpu", "--disable-dev-shm-usage"]
        flags += ["--no-sandbox"] if os.geteuid() == 0 else []
        for flag in flags:
            options.add_argument(flag)
        service = webdriver.ChromeService(executable_path=_program("chromedriver"))
        self._driver = webdriver.Chrome(options=options, service=service)

    def close(self) -> None:
        """End it."""
        self._driver.quit()

    def open(
        self,
        page: Path | str,
        *,
        scheme: str = "light",
        width: int = 1280,
        height: int = 900,
        media: str = "",
        at: str = "",
    ) -> None:
        """Open a file, at the element of an id, or an address; `media` is "" or print."""
        self._driver.get("about:blank")  # the page before is not laid out once more for the new width
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._cdp("Emulation.setEmulatedMedia", media=media, features=features)
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._cdp("Emulation.setDeviceMetricsOverride", **metrics)
        self._driver.get(page if isinstance(page, str) else page.resolve().as_uri() + (at and f"#{at}"))

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a script returns in the page; the page's policy does not bind the test."""
        return self._driver.execute_script(script, *arguments)

    def waited(self, script: str) -> Any:
        """Return what a script returns as soon as that is something."""
        return WebDriverWait(self._driver, _PATIENCE).until(lambda _: self.run(script))

    def console(self) -> list[str]:
        """Return what the console has got since the last look."""
        entries = self._driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in entries]

    def press(self, key: str) -> None:
        """Press a key where the focus is."""
        self._driver.switch_to.active_element.send_keys(key)

    def tab(self) -> Iterator[None]:
        """Press the tabulator until the focus has been everywhere; yield at each stop."""
        for _ in range(_MOST_STOPS):
            self.press(Keys.TAB)
            if self.run("return document.activeElement === document.body"):
                return
            yield
        raise AssertionError(f"the focus goes round for more than {_MOST_STOPS} stops")

    def pictured(self) -> list[dict[str, str]]:
        """Return name and description of every picture, as assistive programs get them."""
        self._cdp("Accessibility.enable")
        nodes = self._cdp("Accessibility.getFullAXTree")["nodes"]
        self._cdp("Accessibility.disable")
        return [
            {part: node.get(part, {}).get("value", "") for part in ("name", "description")}
            for node in nodes
            if not node["ignored"] and node["role"]["value"] in ("image", "img")
        ]

    def screenshot(self, height: int) -> bytes:
        """Return the upper part of the page as PNG."""
        width = self.run("return innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        taken = self._cdp("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(taken["data"])

    def _cdp(self, command: str, **parameters: Any) -> Any:
        return self._driver.execute_cdp_cmd(command, parameters)
