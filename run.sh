#!/usr/bin/env bash
# ./run.sh          sets up, builds, runs the suite against the built-in engine, shows a capture and
#                   a planted defect that the suite finds
# ./run.sh ARGS...  sets up, builds, runs `veriroce ARGS...`; stdout is the program's alone
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
caller=$PWD
cd "$here"
# shellcheck source=.ci/setup
source .ci/setup

setup build
build release veriroce veriroce-agent # tests are configured, too, but built by test.sh alone
veriroce=$here/build/release/veriroce

if [[ $# != 0 ]]; then
    cd "$caller" # file names are the caller's
    exec "$veriroce" "$@"
fi

verdict=0
echo "== The suite against the built-in engine"
"$veriroce" test --report build/report || verdict=$?

capture=pcaps/userspace-peer-rc.pcap
echo
echo "== veriroce dissect $capture (its first packets)"
# Into a file: a pipe that head closes would hide the program's own exit code.
"$veriroce" dissect "$capture" >build/dissect.txt || verdict=$?
head -n 8 build/dissect.txt

defect=nak_for_every_packet_ahead
echo
echo "== veriroce test rsp/gap-nak --mutant $defect (a planted defect, which must FAIL)"
caught=0
"$veriroce" test rsp/gap-nak --mutant "$defect" || caught=$?
if [[ $caught != 1 ]]; then
    echo "run.sh: the suite did not find the planted defect: expected exit code 1, got $caught" >&2
    verdict=1
fi

echo
for page in build/report/*.html build/report/results.json; do
    [[ ! -e $page ]] || echo "The report: $here/$page"
done
echo "The program: build/release/veriroce (--help describes it)"
exit "$verdict"
