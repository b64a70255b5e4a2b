#!/usr/bin/env bash
# Runs a selection of cases against the Python agent: none may fail or be skipped. Needs root.
#
#   test.sh VERIROCE 4|6      the cases over this IP version
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
report=$(mktemp -d)
trap 'rm -rf "$report"' EXIT

"$here/run.sh" "$1" "$report" agent --check @agent

must_pass=(ack/each-kind atm/compare-swap bth/answer-header crc/bad-icrc-request
    key/unknown-rkey len/zero-length-read rdr/response-opcodes req/coalesced-ack
    req/lost-read-response rnr/no-receive rsp/gap-nak sta/error-is-silent)
"$here/run.sh" "$1" "$report" test "${must_pass[@]}" --over "ip=$2" -i va --report "$report/run" \
    --dut @agent
python3 -B - "$report/run/results.json" "${must_pass[@]}" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    cases = json.load(file)["cases"]
passed = {case["id"].split("[")[0] for case in cases if case["verdict"] == "PASS"}
wrong = [case["id"] for case in cases if case["verdict"] not in ("PASS", "SKIP")]
missing = sorted(set(sys.argv[2:]) - passed)
print(f"{len(cases)} runs; not PASS or SKIP: {wrong}; not judged: {missing}")
sys.exit(1 if wrong or missing else 0)
PYTHON
