#!/usr/bin/env bash
# ./run.sh          sets up, builds, runs the suite against the built-in engine, shows a capture
# ./run.sh ARGS...  sets up, builds, runs `veriroce ARGS...`; stdout is the program's alone
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
caller=$PWD
cd "$here"
# shellcheck source=.ci/setup
source .ci/setup

setup build
build release veriroce veriroce-agent
veriroce=$here/build/release/veriroce

if [[ $# != 0 ]]; then
    cd "$caller" # file names are the caller's
    exec "$veriroce" "$@"
fi

verdict=0
echo "== The suite against the built-in engine"
"$veriroce" test --report build/report || verdict=$?

capture=pcaps/rxe-rc-pingpong.pcap
[[ -e $capture ]] || capture=$(compgen -G 'pcaps/*.pcap*' | head -n 1 || true)
if [[ -n $capture ]]; then
    echo
    echo "== veriroce dissect $capture (its first packets)"
    # Into a file: a pipe that head closes would hide the program's own exit code.
    "$veriroce" dissect "$capture" >build/dissect.txt || verdict=$?
    head -n 12 build/dissect.txt
fi

echo
for page in build/report/*.html build/report/results.json; do
    [[ ! -e $page ]] || echo "The report: $here/$page"
done
echo "The program: build/release/veriroce (--help says what it does)"
exit "$verdict"
