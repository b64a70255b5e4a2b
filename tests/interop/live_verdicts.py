#!/usr/bin/env python3
"""Compares the runs of tests/interop/live.sh: FOLDER/KIND-RUN/results.json of each.

    live_verdicts.py FOLDER RUNS KIND...

An ERROR is allowed in cases tagged `timing` (FOLDER/timing.txt lists them), where the KIND is
`noisy` in all cases, and nowhere else; FAIL, WARN and XPASS never. XFAIL, what the device's
profile knows, is allowed if every run has it: what one run has and another has not is the
machine's doing, or ours. In cases tagged `timing` the device's own time may lie now on this
side of the limit and now on that, and what the profile calls `sometimes` (FOLDER/sometimes.txt
lists those cases) need not show. Exit codes: 0, or 1 with a line each.
"""
import collections
import json
import sys


def cases_of(folder, kind, run):
    with open(f"{folder}/{kind}-{run}/results.json", encoding="utf-8") as file:
        results = json.load(file)
    return results["cases"], results["timing"]["wall_ns"] / 1e9


def words_of(path):
    """The first word of each line."""
    with open(path, encoding="utf-8") as file:
        return {line.split()[0] for line in file if line.split()}


def told(kind, runs, verdicts, seconds):
    judged = sum(verdicts.values()) - verdicts["SKIP"]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    print(f"{kind}: {runs} runs of {sorted(seconds)[runs // 2]:.1f} s (median): {counts}; "
          f"ERROR {100 * verdicts['ERROR'] / judged:.3f} %")


def wrong_in(folder, kind, runs, timing, sometimes):
    """Sentences about the runs of one kind."""
    verdicts = collections.Counter()
    seconds = []
    found = collections.defaultdict(dict)  # id -> run -> (verdict, summary)
    for run in range(1, runs + 1):
        cases, wall = cases_of(folder, kind, run)
        seconds.append(wall)
        for case in cases:
            verdicts[case["verdict"]] += 1
            found[case["id"]][run] = (case["verdict"], case["summary"])
    told(kind, runs, verdicts, seconds)
    for case, by_run in found.items():
        # A time that could not be judged does not contradict the verdicts of the other runs.
        judged = {v for v, _ in by_run.values() if v != "ERROR"}
        for run, (verdict, summary) in by_run.items():
            if verdict in ("PASS", "SKIP"):
                continue
            if verdict == "ERROR" and (case in timing or kind == "noisy"):
                continue
            changes = case in timing or case.split("[")[0] in sometimes
            if verdict == "XFAIL" and (judged == {verdict} or changes):
                continue
            yield f"{kind} {run}: {verdict} {case}: {summary}"
        if len(by_run) != runs:
            yield f"{kind}: {case} was played in {len(by_run)} of {runs} runs"


def main(arguments):
    folder, runs, *kinds = arguments
    timing = words_of(f"{folder}/timing.txt")
    sometimes = words_of(f"{folder}/sometimes.txt")
    wrong = [line for kind in kinds
             for line in wrong_in(folder, kind, int(runs), timing, sometimes)]
    for line in wrong:
        print("live:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
