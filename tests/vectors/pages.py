#!/usr/bin/env python3
"""Opens pages of `ovir graph` in Chromium and uses them: searches, clicks, opens blocks, goes back.

    pip install websocket-client
    pages.py PAGE.html... [--chromium /usr/bin/chromium] [--pictures FOLDER]

Fails if a page logs an error, breaks its content security policy, asks the network for anything, or does
not show what it should. Each page needs a layer; blocks, bodies and constants are tried where there are any.
With --pictures, keeps a screenshot of each page as it opens, of a layer found by search, and in dark mode.
"""

import argparse
import base64
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

import websocket


class Browser:
    """A tab, driven through the DevTools protocol."""

    def __init__(self, chromium, size):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-port=0", "--remote-allow-origins=*",
             f"--user-data-dir={self.folder.name}", f"--window-size={size[0]},{size[1]}", "about:blank"],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        port_file = pathlib.Path(self.folder.name) / "DevToolsActivePort"
        for _ in range(600):
            if port_file.exists() and port_file.read_text().count("\n"):
                break
            time.sleep(0.1)
        port = port_file.read_text().split("\n")[0]
        targets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        page = next(t for t in targets if t["type"] == "page")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=120)
        self.number = 0
        self.events = []
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.send(f"{domain}.enable")

    def send(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def run(self, script):
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"].get("exception", {}).get("description"))
        return result["result"].get("value")

    def open(self, path):
        self.events.clear()
        self.send("Page.navigate", url=path.resolve().as_uri())
        for _ in range(600):
            if self.run("document.readyState") == "complete":
                return
            time.sleep(0.1)
        raise AssertionError("the page does not load")

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        for number in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", clickCount=number)
            self.mouse("mouseReleased", x, y, button="left", clickCount=number)

    def key(self, key, text=None):
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path):
        data = self.send("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def center(browser, selector):
    """The middle of an element, in the window."""
    return browser.run(f"""(() => {{
        const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
        return [r.x + r.width / 2, r.y + r.height / 2, r.width];
    }})()""")


def details(browser):
    return browser.run("document.getElementById('details').innerText")


def trail(browser):
    return browser.run("document.getElementById('trail').innerText")


def search(browser, text):
    browser.run("document.activeElement.blur()")
    browser.key("/", "/")
    check(browser.run("document.activeElement.id") == "search", "the key / goes to the search")
    browser.run("document.getElementById('search').value = ''")
    browser.send("Input.insertText", text=text)
    hits = browser.run("[...document.querySelectorAll('#found li:not(.none)')].map(e => e.innerText)")
    return hits


def use(browser, path, pictures):
    browser.open(path)
    check(browser.run("document.querySelectorAll('.panel.shown').length") == 1, "one panel is shown")
    if pictures:
        browser.picture(pictures / f"{path.stem}.png")
    data = browser.run("JSON.parse(document.getElementById('data').textContent)")
    check("layers" in details(browser), "the model is described")

    # A layer in the middle of the model, by its name.
    layers = data["scenes"][0]["layers"]
    drawn = [unit[0][0] for unit in data["scenes"][0]["units"] if len(unit[0]) == 1]
    wanted = layers[drawn[len(drawn) // 2]]
    hits = search(browser, wanted["name"])
    check(any(wanted["name"] in hit for hit in hits), f"{wanted['name']!r} is found: {hits[:3]}")
    browser.key("Enter", "\r")
    text = details(browser)
    check(wanted["type"] in text and wanted["name"].strip() in text, f"{wanted['name']!r}: {text[:200]}")
    check(browser.run("document.querySelectorAll('.n.at').length") == 1, "its box is marked")
    x, y, _ = center(browser, ".n.at > rect")
    size = browser.run("[innerWidth, innerHeight]")
    check(0 < x < size[0] and 0 < y < size[1], "its box is in sight")
    if pictures:
        browser.picture(pictures / f"{path.stem}-layer.png")

    # A click on it, after one beside it.
    browser.key("Escape")
    check(browser.run("document.querySelectorAll('.n.at').length") == 0, "Escape takes the mark away")
    browser.click(x, y)
    check(wanted["type"] in details(browser), "a click shows the layer")
    # A link of the details leads to its first input.
    if browser.run("document.querySelectorAll('#details .link').length"):
        name = browser.run("document.querySelector('#details .link').innerText")
        browser.run("document.querySelector('#details .link').click()")
        check(details(browser).split()[0] in name, f"the link leads to {name!r}")

    # Nothing is found, and nothing happens.
    check(search(browser, "no such layer \u2014 <b>") == [], "nothing is found")
    browser.key("Enter", "\r")
    browser.key("Escape")

    # Wheel, drag and keys move the drawing; a drag is no click.
    def place():
        return browser.run("document.getElementById('view').getAttribute('transform')")

    browser.key("0", "0")
    before = place()
    browser.mouse("mouseWheel", 400, 400, deltaX=0, deltaY=-200)
    time.sleep(0.2)
    check(place() != before, "the wheel zooms")
    before, marked = place(), browser.run("document.querySelector('.n.at')?.dataset.v")
    browser.mouse("mousePressed", 300, 300, button="left", clickCount=1)
    for step in range(5):
        browser.mouse("mouseMoved", 300 + 20 * step, 300 + 10 * step, button="left", buttons=1)
    browser.mouse("mouseReleased", 380, 340, button="left", clickCount=1)
    check(place() != before, "a drag moves")
    check(browser.run("document.querySelector('.n.at')?.dataset.v") == marked, "a drag is no click")
    before = place()
    browser.key("ArrowDown")
    check(place() != before, "arrows move")

    # Blocks, and layers that compute a shape, open by a double click; Escape leads back.
    tried = 0
    for panel, about in enumerate(data["panels"]):
        for box, vertex in enumerate(about["vertices"]):
            if vertex.get("panel") is None or tried >= 6 or panel != 0:
                continue
            tried += 1
            browser.run("document.querySelector('#trail button')?.click()")
            browser.key("0", "0")
            x, y, width = center(browser, f'[data-v="0.{box}"] > rect')
            if width < 2:
                continue
            browser.click(x, y, 2)
            inner = data["panels"][vertex["panel"]]
            check(inner["title"].split()[0] in trail(browser), f"{inner['title']!r} opens: {trail(browser)}")
            if "copies" in inner:
                options = browser.run("document.querySelectorAll('#copy option').length")
                check(options == inner["copies"], "there is one entry for each copy")
                # The last copy has other layers than the first.
                inner_box = next(i for i, v in enumerate(inner["vertices"])
                                 if "place" in v and "copies" not in v and v.get("panel") is None)
                browser.run(f"""document.querySelector('[data-v="{vertex["panel"]}.{inner_box}"] text')
                    .dispatchEvent(new MouseEvent('click', {{bubbles: true}}))""")
                first = details(browser)
                browser.run("""(() => { const c = document.getElementById('copy');
                    c.value = c.options.length - 1; c.dispatchEvent(new Event('change')); })()""")
                check(details(browser) != first, "the last copy is another one")
                if pictures and tried == 1:
                    browser.picture(pictures / f"{path.stem}-block.png")
                browser.key("Escape")
            browser.run("document.activeElement.blur()")
            browser.key("Escape")
            check(browser.run("document.querySelectorAll('#trail button').length") == 0, "Escape leads back")

    # Bodies open by a button.
    holders = [layer for layer in layers if layer.get("bodies")]
    if holders:
        search(browser, holders[0]["name"])
        browser.key("Enter", "\r")
        check(browser.run("document.querySelectorAll('#details .open').length") > 0, "a body can be opened")
        browser.run("document.querySelector('#details .open').click()")
        check(" of " in trail(browser), f"the body is shown: {trail(browser)}")

    if pictures:
        browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        browser.open(path)
        browser.picture(pictures / f"{path.stem}-dark.png")
        browser.send("Emulation.setEmulatedMedia", features=[])

    # What was logged and asked for.
    browser.run("0")
    for event in browser.events:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            raise AssertionError(f"an exception: {params['exceptionDetails']}")
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            raise AssertionError(f"the console: {params['args']}")
        if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            raise AssertionError(f"the log: {params['entry']['text']}")
        if method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            check(url == path.resolve().as_uri(), f"the page asks for {url}")
    return len(layers), tried


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=pathlib.Path, metavar="PAGE.html")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--pictures", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--size", type=int, nargs=2, default=(1400, 900), metavar=("WIDTH", "HEIGHT"))
    args = parser.parse_args()
    if args.pictures:
        args.pictures.mkdir(parents=True, exist_ok=True)
    failed = 0
    browser = Browser(args.chromium, args.size)
    try:
        for path in args.pages:
            try:
                layers, opened = use(browser, path, args.pictures)
                print(f"{path.name}: fine ({layers} layers, {opened} boxes opened)")
            except AssertionError as error:
                failed += 1
                print(f"{path.name}: {error}")
    finally:
        browser.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
