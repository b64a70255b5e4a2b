#!/usr/bin/env bash
# ./test.sh                 installs, builds and runs every test that needs no virtual machine
#   --tidy [FILE...]        also clang-tidy, on FILEs or on what changed since origin/main
#   --interop               also the real Linux soft RoCE device in a virtual machine
# FUZZ_SECONDS (5) is the time for each fuzz target; one target per core runs at a time.
# INTEROP_SECONDS (2400) is the time limit of --interop; INTEROP_SHARE is in tests/interop/run.sh.
# SANITIZED_PART=1, 2 or 3 plays and fuzzes that part of the tests (cmake/tests.cmake) with
# sanitizers alone, and the other two without, and the end says so; SWEEP_SHARE=I/N plays that much
# of the longest sweeps (tests/conformance/plan/playing.hpp).
# Exit codes: 0 all passed, 1 something failed, 2 usage, 3 the machine could not run the tests.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=.ci/setup
source .ci/setup

fuzz_seconds=${FUZZ_SECONDS:-5}
interop_seconds=${INTEROP_SECONDS:-2400}
sanitized_part=${SANITIZED_PART:-}
case $sanitized_part in
    '') other_parts= ;;
    1) other_parts='2;3' ;;
    2) other_parts='1;3' ;;
    3) other_parts='1;2' ;;
    *)
        echo "test.sh: expected SANITIZED_PART to be 1, 2 or 3, got $sanitized_part" >&2
        exit 2
        ;;
esac
jobs=$(nproc)
tidy=no
interop=no
tidy_files=()
while [[ $# != 0 ]]; do
    case $1 in
        --tidy) tidy=yes ;;
        --interop) interop=yes ;;
        -h | --help)
            sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0"
            exit 0
            ;;
        -*)
            echo "test.sh: no such option: $1 (--tidy, --interop)" >&2
            exit 2
            ;;
        *)
            [[ $tidy == yes ]] || {
                echo "test.sh: file names need --tidy: $1" >&2
                exit 2
            }
            tidy_files+=("$1")
            ;;
    esac
    shift
done

passed=0
failed=0
unable=no
failures=()
second_try=()

# A part begins; says how long all before it took.
step() { printf '== %d:%02d  %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$1"; }
pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    failures+=("$1")
}

our_sources() {
    find dissector transport conformance reports tests -name '*.cpp' -o -name '*.hpp'
    [[ ! -e main.cpp ]] || echo main.cpp
}

# Builds a preset, or parts of its tests; stderr of a failure is on the terminal. False if it
# failed.
built() { # PRESET PARTS
    step "$1: build"
    build "$1" -DVERIROCE_TEST_PARTS="$2" && return
    fail "$1: build"
    return 1
}

# ctest with what it says of tests that pass left out; false if it ran nothing. Its closing line,
# "... N tests failed out of M", sets out_of and lost.
play_tests() { # PRESET LOG ARGUMENTS...
    local preset=$1 log=$2 closing
    shift 2
    ctest --preset "$preset" "$@" 2>&1 | tee "$log" | grep -v '   Passed  \|  Start ' || true
    closing=$(grep -E 'tests passed, [0-9]+ tests? failed out of [0-9]+' "$log") || return
    out_of=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$closing")
    lost=$(sed -E 's/.*, ([0-9]+) tests? failed.*/\1/' <<<"$closing")
}

# ctest of one preset; its numbers are added to the sum. One test more at a time than there are
# cores, because some wait for real links. Those that failed are played again, alone, if all of them
# keep real time: a machine that stood still fails one. What passes then is named at the end.
real_time='^[^(]*- (program/live|inject/|net/|agent/|port/|interop|bench)'
unit_tests() { # PRESET ARGUMENTS of ctest...
    local preset=$1 log=build/$1-ctest.log out_of lost all
    shift
    step "$preset: ctest $*"
    if ! play_tests "$preset" "$log" -j $((jobs + 1)) "$@"; then
        fail "$preset: ctest ran nothing"
        return 0
    fi
    all=$out_of
    if [[ $lost != 0 ]]; then
        sed -n '/^The following tests FAILED/,/^Errors while/{/^\t/p}' "$log" >"$log.failed"
        if ! grep -qvE "$real_time" "$log.failed"; then
            step "$preset: ctest, what failed again, alone"
            play_tests "$preset" "$log.again" --rerun-failed || lost=$(wc -l <"$log.failed")
            second_try+=("$preset: $(tr -s '\t\n' ' ' <"$log.failed")")
        fi
    fi
    out_of=$all
    passed=$((passed + out_of - lost))
    failed=$((failed + lost))
    [[ $lost == 0 ]] || failures+=("$preset: $lost tests failed in ctest")
}

# One target; its exit code goes to a file beside its log.
fuzz_one() {
    local name=${1##*/fuzz_} code=0
    local corpus=build/asan/fuzz/corpus/$name seeds=()
    mkdir -p "$corpus"
    [[ ! -d tests/fuzz/corpus/$name ]] || seeds=("tests/fuzz/corpus/$name")
    "$1" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="build/asan/fuzz/crashes/$name-" "$corpus" "${seeds[@]}" \
        >"build/asan/fuzz/$name.log" 2>&1 || code=$?
    echo "$code" >"build/asan/fuzz/$name.code"
}

fuzz() {
    step "fuzz: each target $fuzz_seconds s"
    local name log targets=build/asan/fuzz/targets.txt
    mkdir -p build/asan/fuzz/crashes
    rm -f build/asan/fuzz/*.code
    export -f fuzz_one
    export fuzz_seconds
    if [[ ! -s $targets ]]; then
        fail "fuzz: there is no target"
        return 0
    fi
    # shellcheck disable=SC2016 # $1 is the inner shell's
    sed 's#^#build/asan/fuzz/fuzz_#' "$targets" |
        xargs -P "$jobs" -I{} bash -c 'fuzz_one "$1"' fuzz_one {}
    while read -r name; do
        log=build/asan/fuzz/$name.log
        if [[ $(cat "build/asan/fuzz/$name.code" 2>/dev/null) == 0 ]]; then
            pass
            echo "$name: $(grep -E '^Done [0-9]+ runs' "$log" || echo 'done')"
        else
            tail -n 40 "$log"
            fail "fuzz: $name (log: $log)"
        fi
    done <"$targets"
}

layout() {
    step "clang-format"
    if our_sources | xargs -r clang-format-19 --dry-run -Werror; then
        pass
    else
        fail "clang-format (fix it with clang-format-19 -i FILE)"
    fi
}

sources_including() {
    our_sources | grep '\.cpp$' | xargs -r grep -lF "#include \"$1\"" || true
}

# A header is tidied through the sources that include it.
tidy_sources() {
    local file
    if [[ ${#tidy_files[@]} != 0 ]]; then
        printf '%s\n' "${tidy_files[@]}"
    elif git rev-parse -q --verify origin/main >/dev/null; then
        { git diff --name-only origin/main && git ls-files -o --exclude-standard; }
    else
        our_sources
    fi | sort -u | while read -r file; do
        case $file in
            *.cpp) [[ ! -e $file ]] || echo "$file" ;;
            *.hpp) sources_including "$file" ;;
        esac
    done | sort -u
}

clang_tidy() {
    step "clang-tidy"
    cmake --preset tidy >build/tidy.log 2>&1 || {
        cat build/tidy.log
        fail "clang-tidy: configure"
        return 0
    }
    if tidy_sources | xargs -r -n 1 -P "$jobs" clang-tidy-19 --quiet -p build/tidy \
        2> >(grep -v 'warnings generated' >&2); then
        pass
    else
        fail clang-tidy
    fi
}

# The virtual machine waits more than it computes: its tests run beside the build with sanitizers.
interop_log=build/interop.log
interop_pid=
interop_begin() {
    step "interop: Linux rxe in a virtual machine, at most $interop_seconds s (log: $interop_log)"
    nice -n -10 timeout -k 30 "$interop_seconds" tests/interop/run.sh \
        >"$interop_log" 2>&1 </dev/null &
    interop_pid=$!
    trap 'kill "$interop_pid" 2>/dev/null && wait "$interop_pid"' EXIT
}

interop_end() {
    local status=0
    wait "$interop_pid" || status=$?
    trap - EXIT
    step "interop: what it said"
    cat "$interop_log"
    case $status in
        0) pass ;;
        3)
            echo "interop: the virtual machine could not run: nothing was tested" >&2
            unable=yes
            ;;
        124 | 137) fail "interop: not finished after $interop_seconds s" ;;
        *)
            fail "interop (exit $status)"
            # Once more at the end, where whoever sees only that much of the log finds it.
            mapfile -t -O "${#failures[@]}" failures < <(
                sed -n 's/^interop: FAILED: /interop: /p' "$interop_log")
            ;;
    esac
    mapfile -t -O "${#second_try[@]}" second_try < <(
        sed -n 's/^interop: FAILED at the first try: /interop: /p' "$interop_log")
}

# Tests of sockets talk over loopback, which is down in a network namespace that is fresh.
loopback_up() {
    [[ $(ip -br link show lo) != *DOWN* ]] && return
    echo "test.sh: lo is down here; bringing it up"
    as_root ip link set lo up || exit 3
}

kinds=(build test)
[[ $interop == no ]] || kinds+=(interop)
setup "${kinds[@]}"
mkdir -p build
# Sanitizer reports with names and lines; Debian's name of it is not the one that they look for.
ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-19 || true)
export ASAN_SYMBOLIZER_PATH
loopback_up
layout
! built release "$other_parts" || unit_tests release
[[ $interop == no ]] || interop_begin
asan=no
! built asan "$sanitized_part" || asan=yes
[[ $interop == no ]] || interop_end # tests of real time want the machine for themselves
[[ $asan == no ]] || unit_tests asan
fuzz
[[ $tidy == no ]] || clang_tidy

step "done"
for again in "${second_try[@]}"; do echo "FAILED at the first try: $again"; done
for failure in "${failures[@]}"; do echo "FAILED: $failure"; done
[[ -z $sanitized_part ]] ||
    echo "part $sanitized_part of 3 of the tests was played with sanitizers, the others without"
echo "$passed passed, $failed failed"
[[ $failed == 0 ]] || exit 1
[[ $unable == no ]] || exit 3
