#!/usr/bin/env python3
"""page_test.py DIR: looks at the pages that page_test.cpp wrote to DIR in a real browser.

The first thing that is wrong ends it with a sentence and exit code 1.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reports"))
from browser import Browser  # noqa: E402

# From a copy that may be read often: Chromium complains of a page's own one.
PAINTED = ("(() => { const c = document.querySelector('canvas').cloneNode(); "
           "const x = c.getContext('2d', {willReadFrequently: true}); "
           "x.drawImage(document.querySelector('canvas'), 0, 0); "
           "const d = x.getImageData(0, 0, c.width, c.height).data; "
           "let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()")
AXIS = "document.getElementById('graphs').axis"


def check(condition, what):
    if not condition:
        sys.exit("page_test: " + what)


def text(browser, selector):
    return browser.run(f"document.querySelector('{selector}').textContent")


def loss(browser, folder):
    browser.open(folder + "/loss.html")
    browser.wait("document.querySelectorAll('canvas').length === 2")
    browser.wait(f"{PAINTED} > 500")
    check(not browser.problems, f"the console says {browser.problems[:3]}")
    check(browser.run("document.title") == "veriroce analysis", "the file's name ran as markup")
    check("</script>" in text(browser, "#files"), "the file's name is not shown as it is")
    check("10.77.0.1 QP 0x000046" in text(browser, "#title"), "the connection has another name")
    check("286 of 478 request packets again" in text(browser, "#story"), "the story is another one")
    check("sequence NAK (9)" in text(browser, ".legend"), "not every NAK is marked")
    check("sent again (285)" in text(browser, ".legend"), "not every retransmission is marked")
    check(browser.run("document.getElementById('episodes').rows.length") == 10, "episodes are missing")
    whole = browser.run(f"{AXIS}.to - {AXIS}.from")
    browser.run("document.querySelector('canvas').dispatchEvent(new WheelEvent('wheel', "
                "{deltaY: -400, clientX: 300, cancelable: true}))")
    browser.wait(f"{AXIS}.to - {AXIS}.from < {whole} / 2")
    browser.run("document.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', {key: '0'}))")
    check(browser.run(f"{AXIS}.to - {AXIS}.from") == whole, "0 does not show all")
    check(browser.run("(() => { const from = performance.now(); for (const g of " + AXIS +
                      ".graphs) g.paint(); return performance.now() - from; })()") < 1000,
          "painting takes a second")
    browser.resize(400, 800)
    check(not browser.run("document.documentElement.scrollWidth > innerWidth"), "it is wider than a phone")
    browser.resize(1200, 1000)


def two(browser, folder):
    browser.open(folder + "/two.html")
    check(text(browser, "#files") == "a.pcap, b.pcap", "the files' names are missing")
    browser.run("document.querySelectorAll('#list button')[1].click()")
    check(text(browser, "#title").startswith(text(browser, "#list tr[aria-selected=true] button")),
          "the other connection is not shown")
    check(not browser.problems, f"the console says {browser.problems[:3]}")


def main():
    with Browser() as browser:
        browser.resize(1200, 1000)
        loss(browser, sys.argv[1])
        two(browser, sys.argv[1])


main()
