#!/usr/bin/env python3
"""page_test.py DIR [PICTURES]: looks at the reports that html_test.cpp wrote to DIR in a real browser.

The first thing that is wrong ends it with a sentence and exit code 1. PICTURES gets screenshots for people.
"""

import os
import sys
import time

from browser import Browser

OPEN_SECONDS = 1.0  # that a report of 2,000 runs may take, on a quiet machine
SLOW_MACHINE = 10   # times that, before the test fails


def check(condition, what):
    if not condition:
        sys.exit("page_test: " + what)


def texts(browser, selector):
    return browser.run(f"[...document.querySelectorAll('{selector}')].map(e => e.textContent)")


def shows(browser, selector):
    return browser.run(f"!document.querySelector('{selector}').closest('[hidden]')")


def wide(browser):
    """Whether the page is wider than the window."""
    return browser.run("document.documentElement.scrollWidth > innerWidth")


def calm(browser, where):
    check(not browser.problems, f"{where}: the console says {browser.problems[:3]}")


def overview(browser, folder):
    browser.open(folder + "/few.html")
    check("failed" in texts(browser, "#title")[0], "the title does not say that runs failed")
    check(len(texts(browser, "#runs > li")) == 4, "not every run is listed")
    first = texts(browser, "#runs .v")[0]
    check(first == "FAIL", f"the worst run is not first but {first}")
    browser.run("document.querySelector('[data-verdict=PASS]').click()")
    check(texts(browser, "#runs .v") == ["PASS"], "the count of PASS does not filter")
    browser.run("byId('clear').click()")
    browser.run("const s = byId('search'); s.value = 'transport-version'; s.dispatchEvent(new Event('input'))")
    check(all("transport-version" in one for one in texts(browser, "#runs > li")), "search finds others")
    browser.run("byId('clear').click()")
    check(len(texts(browser, "#runs > li")) == 4, "'Show all' does not show all")
    browser.run("document.querySelector('.matrix td button').click()")
    check("only" in texts(browser, "#found")[0], "the matrix does not filter")
    browser.run("byId('clear').click()")
    browser.key("/")
    check(browser.run("document.activeElement.id") == "search", "'/' does not go to the search")
    calm(browser, "overview")


def one_run(browser):
    browser.go("bth/transport-version[v=1]")
    browser.wait("document.querySelectorAll('.packet').length === 2")
    check(not shows(browser, "#overview"), "the list stays beside the run")
    check("unexpected ACK" in texts(browser, ".finding")[0], "the finding is not told")
    check(browser.run("document.title").startswith("FAIL bth/"), "the title does not name the run")
    check(texts(browser, ".script .hit"), "the failing line of the script is not marked")
    check(browser.run("document.querySelectorAll('.packet.bad').length") == 1, "the packet is not marked")
    check("Packet 2" in texts(browser, ".side")[0], "the packet of the finding is not chosen first")
    check(texts(browser, ".side details"), "the packet is not decoded")
    check(texts(browser, ".script .chosen")[0].startswith("9"), "the line of the packet is not shown")
    browser.run("document.querySelector('.packet').focus()")
    check("Packet 1" in texts(browser, ".side")[0], "focus does not choose a packet")
    check(not texts(browser, ".script .chosen"), "a packet without a line has one")
    browser.key("ArrowDown")
    check("Packet 2" in texts(browser, ".side")[0], "the arrow key does not go to the next packet")
    check("--seed 1" in texts(browser, ".command")[0], "the command is not told")
    browser.key("Escape")
    browser.wait("!document.querySelector('#overview').hidden")
    browser.run("history.back()")
    browser.wait("document.querySelector('#overview').hidden")
    calm(browser, "a run")


VIEWS = ((1300, "light"), (1300, "dark"), (400, "light"), (400, "dark"))


def looks(browser, pictures):
    for width, theme in VIEWS:
        browser.resize(width, 900)
        browser.theme(theme)
        for fragment, name in (("", "overview"), ("bth/transport-version[v=1]", "run")):
            browser.go(fragment)
            browser.wait(f"byId('overview').hidden === {'true' if fragment else 'false'}")
            time.sleep(0.3)
            check(not wide(browser), f"{name} is wider than {width} pixels")
            if pictures:
                browser.screenshot(f"{pictures}/{name}-{theme}-{width}.png")
    check(browser.pdf().startswith(b"%PDF"), "it cannot be printed")
    browser.resize(1300, 900)
    browser.theme("light")
    calm(browser, "looks")


def comparisons(browser, folder, pictures):
    browser.open(folder + "/diff.html")
    check(texts(browser, "#title")[0].startswith("2 worse"), "the title does not say what became worse")
    titles = texts(browser, "#sections h2")
    check(titles == ["Worse: 2", "No longer judged: 1", "Rules broken now: 1", "The device changed: 2",
                     "Measures beyond their spread: 1"], f"the page has the parts {titles}")
    check("bth/other" == texts(browser, ".changes tbody th")[0], "the run that is worse is not first")
    plots(browser, 2)
    calm(browser, "a comparison")
    browser.open(folder + "/matrix.html")
    check(len(texts(browser, "table.wall tbody tr")) == 3, "not exactly the cases that do not pass everywhere are shown")
    browser.run("document.querySelector('[data-view=all]').click()")
    check(len(texts(browser, "table.wall tbody tr")) == 4, "'All cases' does not show all")
    browser.run("const s = document.querySelector('input[type=search]'); s.value = 'rsp'; s.dispatchEvent(new Event('input'))")
    check(texts(browser, "table.wall tbody th") == ["rsp/gap-nak"], "the search finds other cases")
    check("capability raw" in texts(browser, ".changes th"), "capabilities that differ are not shown")
    browser.resize(400, 900)
    narrow = browser.run("Math.min(...[...document.querySelectorAll('#devices td')].map(cell => cell.clientWidth))")
    check(narrow >= 100, f"on a phone a device's column is {narrow} pixels wide")
    browser.resize(1300, 900)
    plots(browser, 2)
    calm(browser, "a matrix")
    for name in ("sheet", "diff", "matrix"):
        browser.open(f"{folder}/{name}.html")
        for width, theme in VIEWS:
            browser.resize(width, 900)
            browser.theme(theme)
            time.sleep(0.3)
            check(not wide(browser), f"{name} is wider than {width} pixels")
            if pictures:
                browser.screenshot(f"{pictures}/{name}-{theme}-{width}.png", whole=True)
        browser.resize(1300, 900)
        browser.theme("light")
        pdf = browser.pdf()
        check(pdf.startswith(b"%PDF"), f"{name} cannot be printed")
        if pictures:
            with open(f"{pictures}/{name}.pdf", "wb") as file:
                file.write(pdf)
        calm(browser, name)


def plots(browser, count):
    browser.wait(f"document.querySelectorAll('canvas').length === {count}")
    drawn = browser.run("[...document.querySelectorAll('canvas')].map(c => "
                        "c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v))")
    check(drawn == [True] * count, "a plot is empty")
    check(len(texts(browser, ".figures tbody tr")) > count, "a plot has no figures")


def sheets(browser, folder):
    browser.open(folder + "/sheet.html")
    check(shows(browser, "#sheet h2"), "the data sheet is not shown")
    check("go-back-N" in texts(browser, ".behaviours td")[0], "the behaviour is not told")
    plots(browser, 2)
    check("Permission is hereby granted" in texts(browser, "footer")[0], "the notices of the library are missing")
    before = browser.run("document.querySelector('canvas').toDataURL()")
    browser.theme("dark")
    browser.wait("matchMedia('(prefers-color-scheme: dark)').matches")
    time.sleep(0.2)
    check(browser.run("document.querySelector('canvas').toDataURL()") != before, "plots do not follow the theme")
    browser.theme("light")
    browser.go("bth/transport-version[v=1]")
    browser.wait("document.querySelectorAll('.packet').length === 2")
    check(not shows(browser, "#sheet h2"), "the data sheet stays beside a run")
    check("done recv id=1" in texts(browser, ".step text"), "the ladder shows no step of the device's application")
    calm(browser, "a data sheet")


OVER_A_LANE = (
    "(() => { const [near, far] = [...document.querySelectorAll('.ladder line.rail')]"
    ".map(line => line.x1.baseVal.value).sort((a, b) => a - b);"
    "return [...document.querySelectorAll('.packet text:not(.note), .step text')].map(text => [text.textContent, text.getBBox()])"
    ".filter(([, box]) => box.width && (box.x < near ? box.x + box.width > near : box.x + box.width > far))"
    ".map(([text]) => text); })()")


def long_ladder(browser, folder):
    browser.open(folder + "/long.html")
    browser.go("%E0%A4%A")  # names no run
    check(shows(browser, "#overview"), "a malformed address shows no overview")
    browser.go("rsp/long")
    browser.wait("document.querySelectorAll('.packet').length > 0")
    check(browser.run("document.querySelectorAll('.packet').length") < 300, "like packets are not folded")
    browser.run("[...document.querySelectorAll('.packet')].find(e => e.textContent.includes('more'))"
                ".dispatchEvent(new MouseEvent('click'))")
    browser.wait("document.querySelectorAll('.packet').length === 300")
    check("Packet 300" in texts(browser, ".side h3")[0], "the offending packet is not the chosen one")
    check("has no bytes" not in texts(browser, ".side")[0], "the offending packet is not decoded")
    out = browser.run(OVER_A_LANE)
    check(not out, f"these texts of a ladder reach over a lane: {out[:3]}")
    browser.resize(400, 900)
    browser.wait("document.querySelector('.ladder svg').clientWidth < 400")
    out = browser.run(OVER_A_LANE)
    check(not out, f"on a phone these texts of a ladder reach over a lane: {out[:3]}")
    browser.resize(1300, 900)
    calm(browser, "a long ladder")


def many_runs(browser, folder):
    began = time.monotonic()
    browser.open(folder + "/many.html")
    browser.wait("document.querySelectorAll('#runs > li').length > 0")
    took = time.monotonic() - began
    print(f"2,000 runs, {os.path.getsize(folder + '/many.html')} bytes: open after {took:.2f} s "
          f"(goal {OPEN_SECONDS:.0f} s)")
    check(took < OPEN_SECONDS * SLOW_MACHINE, f"2,000 runs took {took:.1f} s to open")
    check(len(texts(browser, "#runs > li")) < 200, "all 2,000 rows are shown at once")
    check("the first 60 are shown" in texts(browser, "#found")[0], "the page does not say how many runs it shows")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    check(texts(browser, "#runs .v") == ["FAIL"] * 80, "paper does not get all runs that failed")
    browser.run("dispatchEvent(new Event('afterprint'))")
    check(len(texts(browser, "#runs > li")) == 60, "after printing the list is longer than before")
    browser.run("byId('more').click()")
    check(len(texts(browser, "#runs > li")) > 200, "'Show more' shows no more")
    calm(browser, "2,000 runs")


def hostile(browser, folder):
    browser.open(folder + "/hostile.html")
    check(browser.run("window.owned") is None, "text of the device ran as script")
    runs = browser.run("head.runs.map(run => run.id)")
    check(len(runs) > 0, "the hostile report shows no run")
    for run in runs:
        browser.go(run)
        browser.wait("document.querySelectorAll('.finding').length > 0")
        check(browser.run("window.owned") is None, f"text of run {run} ran as script")
    check(browser.run("document.querySelectorAll('img, iframe, form, object, base').length") == 0,
          "text of the device became an element")
    calm(browser, "a hostile report")
    for name in ("sheet", "diff", "matrix"):
        browser.open(f"{folder}/hostile_{name}.html")
        browser.wait("document.querySelectorAll('canvas').length > 0")
        check(browser.run("window.owned") is None, f"text of the device ran as script in a {name}")
        check(browser.run("document.querySelectorAll('img, iframe, form, object, base').length") == 0,
              f"text of the device became an element of a {name}")
        calm(browser, f"a hostile {name}")
    # As if escaping were broken: the policy alone must hold.
    browser.open(folder + "/broken.html")
    time.sleep(0.5)
    check(browser.run("document.querySelectorAll('img').length") > 0, "the broken page is not broken")
    check(browser.run("window.owned") is None, "the policy lets a foreign script run")
    check(browser.problems, "the policy does not complain of the broken page")
    browser.problems.clear()


def injections(browser, folder, pictures):
    browser.open(folder + "/inject.html")
    plots(browser, 1)
    check(browser.run("window.owned") is None, "text of a plan ran as script")
    check(texts(browser, "#verdicts .v") == ["FAIL"], "the expectation that is not met is not told")
    check("fault 1" in texts(browser, "#faults tbody td a"), "the fault has no link to its ladder")
    check(len(texts(browser, "#connections tbody tr")) == 1, "the connection is not listed")
    for width, theme in VIEWS[::3]:
        browser.resize(width, 900)
        browser.theme(theme)
        for fragment, name in (("", "inject"), ("fault-1", "inject-fault")):
            browser.go(fragment)
            browser.wait(f"byId('overview').hidden === {'true' if fragment else 'false'}")
            time.sleep(0.3)
            check(not wide(browser), f"{name} is wider than {width} pixels")
            if pictures:
                browser.screenshot(f"{pictures}/{name}-{theme}-{width}.png")
    browser.resize(1300, 900)
    browser.theme("light")
    browser.go("fault-1")
    browser.wait("document.querySelectorAll('.packet.bad').length === 1")
    time.sleep(0.2)
    check(texts(browser, ".lane") == ["A: eth1", "B: <img src=x onerror=owned=1>"], "the lanes are not the two ports")
    check("SEND_ONLY psn=3" in texts(browser, ".packet.bad")[0], "the lost packet is not marked")
    check(browser.run("document.querySelectorAll('.packet.bad path').length") == 1, "the lost packet has no cross")
    check("Packet 7" in texts(browser, ".side")[0], "the lost packet is not chosen first")
    check(any("Base Transport Header" in one for one in texts(browser, ".side details")), "the packet is not decoded")
    check(any("sent again" in one for one in texts(browser, ".legend span")), "the retransmission is not marked")
    browser.key("Escape")
    browser.wait("!byId('overview').hidden")
    check(browser.run("document.querySelectorAll('img').length") == 0, "text of a plan became an element")
    calm(browser, "an injection")


def main():
    folder = sys.argv[1]
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    with Browser() as browser:
        overview(browser, folder)
        one_run(browser)
        looks(browser, pictures)
        sheets(browser, folder)
        comparisons(browser, folder, pictures)
        injections(browser, folder, pictures)
        long_ladder(browser, folder)
        many_runs(browser, folder)
        hostile(browser, folder)
    print("page_test: all is as it should be")


main()
