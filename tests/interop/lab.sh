#!/usr/bin/env bash
# Real Linux soft RoCE devices (rdma_rxe) in small virtual machines, on a bridge in a network
# namespace of its own. Needs root and Debian 12 on amd64; no RDMA hardware, no KVM.
#
#   lab.sh build                  build the guest's image (idempotent; `start` does it too)
#   lab.sh start [N]              set up namespace, bridge, tester0 and N VMs (1); wait until ready
#   lab.sh restart ID             end VM ID, however it is, and start it anew
#   lab.sh put FILE...            copy FILE to /host/bin/NAME in every VM, also in running ones
#   lab.sh exec ID COMMAND        run a shell command in VM ID; give its output and exit status
#   lab.sh bg ID COMMAND          run it in the background; print the name of the job
#   lab.sh wait ID JOB [SECONDS]  wait for a job; give its output and exit status
#   lab.sh output ID JOB          print the output of a job so far
#   lab.sh ns COMMAND...          run a program of this host inside the namespace
#   lab.sh capture FILE [FILTER]  record the bridge (default filter: udp port 4791)
#   lab.sh capture-stop           stop recording and flush the file
#   lab.sh status | console ID | stop | clean
#
# VM i has eth0 = 10.77.0.i/24 and fd77::i/64, with rxe0 on it. The tester's end of the bridge is
# tester0 = 10.77.0.254/24 and fd77::fe/64, inside the namespace.
#
# Environment: LAB_KERNEL (a version such as 6.12, .deb files, or a bzImage with LAB_MODULES; see
#   kernel.sh; default: the newest of this host's release), LAB_DIR (~/.cache/veriroce-lab),
#   LAB_NS (veriroce-lab), LAB_MTU (1500), LAB_MEMORY (384 MiB), LAB_ACCEL (auto|kvm|tcg),
#   LAB_LIFE (3600 s, after which every VM ends), LAB_BOOT_SECONDS (120),
#   LAB_JOB_SECONDS (600).
# Exit codes: that of the command; 3 if the lab does not work here.
set -euo pipefail

lab_scripts=$(cd "$(dirname "$0")" && pwd)
LAB_DIR=${LAB_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/veriroce-lab}
LAB_NS=${LAB_NS:-veriroce-lab}
LAB_MTU=${LAB_MTU:-1500}
LAB_MEMORY=${LAB_MEMORY:-384}
LAB_ACCEL=${LAB_ACCEL:-auto}
LAB_LIFE=${LAB_LIFE:-3600}
LAB_BOOT_SECONDS=${LAB_BOOT_SECONDS:-120}
LAB_JOB_SECONDS=${LAB_JOB_SECONDS:-600}
debs=$LAB_DIR/debs
state=$LAB_DIR/run/$LAB_NS # state of this namespace's VMs: vmI/{pid,console.log,share/...}

say() { echo "lab: $*" >&2; }
die() {
    say "$*"
    exit 3
}
# shellcheck source=kernel.sh
source "$lab_scripts/kernel.sh"
# shellcheck source=image.sh
source "$lab_scripts/image.sh"
image=$LAB_DIR/image$(kernel_name)

seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# Whether the process of a pid file runs and is the one that we started: its command line contains
# $2.
alive() { # pid file, path
    local pid
    pid=$(cat "$1" 2>/dev/null) && [[ -n $pid ]] &&
        grep -qaF -- "$2" "/proc/$pid/cmdline" 2>/dev/null &&
        ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null
}

stop_process() { # pid file, path, signal: sends the signal, waits 4 s, then sends KILL
    local file=$1 turns=0
    alive "$file" "$2" || return 0
    kill -s "$3" "$(cat "$file")"
    while alive "$file" "$2" && ((turns++ < 80)); do sleep 0.05; done
    ! alive "$file" "$2" || kill -KILL "$(cat "$file")"
    rm -f "$file"
}

need_machine() {
    [[ $(id -u) == 0 ]] || die "needs root (namespaces, taps): sudo $0"
    local program
    for program in qemu-system-x86_64 ip cpio depmod flock; do
        command -v "$program" >/dev/null || die "$program is missing (interop in .ci/packages)"
    done
    [[ -c /dev/net/tun ]] || die "/dev/net/tun is missing: no tap devices on this machine"
}

network_up() {
    if [[ ! -e /run/netns/$LAB_NS ]]; then
        ip netns add "$LAB_NS" || die "cannot create the network namespace $LAB_NS"
        touch "$state/namespace-is-ours"
    fi
    local in_ns=(ip -n "$LAB_NS")
    "${in_ns[@]}" link set lo up
    # Only tester0 answers ARP for its address, and asks from it: lab0 is this host's as well, and a
    # guest that learns its MAC sends packets that never reach tester0.
    ip netns exec "$LAB_NS" sysctl -qw net.ipv4.conf.all.arp_ignore=1 \
        net.ipv4.conf.all.arp_announce=2
    if ! "${in_ns[@]}" link show lab0 >/dev/null 2>&1; then
        ip netns exec "$LAB_NS" sysctl -qw net.ipv6.conf.default.accept_dad=0
        "${in_ns[@]}" link add lab0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0 ||
            die "cannot create a bridge"
        "${in_ns[@]}" link add tester0 type veth peer name port0 || die "cannot create a veth pair"
        "${in_ns[@]}" link set port0 master lab0
        # Only tester0 represents this host: the forwarding interfaces get no link-local address.
        "${in_ns[@]}" link set port0 addrgenmode none
        "${in_ns[@]}" link set lab0 addrgenmode none
    fi
    local name
    for name in port0 tester0 lab0; do "${in_ns[@]}" link set "$name" mtu "$LAB_MTU" up; done
    "${in_ns[@]}" addr replace 10.77.0.254/24 dev tester0
    "${in_ns[@]}" addr replace fd77::fe/64 dev tester0 nodad
}

start_vm() { # id accelerator
    local id=$1 accel=$2 vm=$state/vm$1 mac
    if alive "$vm/pid" "$vm"; then
        say "VM $id is already running"
        return
    fi
    rm -rf "$vm"
    mkdir -p "$vm/share/jobs" "$vm/share/bin"
    [[ ! -d $state/bin ]] || cp -a "$state/bin/." "$vm/share/bin/"
    mkfifo "$vm/command.in" "$vm/command.out"
    ip -n "$LAB_NS" link show "tap$id" >/dev/null 2>&1 ||
        ip -n "$LAB_NS" tuntap add dev "tap$id" mode tap || die "cannot create tap$id"
    ip -n "$LAB_NS" link set "tap$id" addrgenmode none
    ip -n "$LAB_NS" link set "tap$id" mtu "$LAB_MTU" master lab0 up
    printf -v mac '52:54:00:77:00:%02x' "$id"
    [[ $accel != tcg ]] || accel=tcg,thread=multi
    local kernel_line="console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr"
    kernel_line+=" random.trust_cpu=on cryptomgr.notests no_timer_check tsc=reliable"
    kernel_line+=" net.ifnames=0 lab.id=$id lab.mtu=$LAB_MTU lab.accel=${accel%%,*}"
    # timeout(1) ends the VM even if this script dies.
    setsid timeout -k 5 "$LAB_LIFE" ip netns exec "$LAB_NS" qemu-system-x86_64 \
        -name "veriroce-lab-vm$id" -pidfile "$vm/pid" -accel "$accel" -cpu max \
        -m "$LAB_MEMORY" -nodefaults -display none -no-reboot \
        -serial "file:$vm/console.log" -kernel "$image/kernel" -initrd "$image/initrd" \
        -append "$kernel_line" \
        -netdev "tap,id=net,ifname=tap$id,script=no,downscript=no" \
        -device "virtio-net-pci,netdev=net,mac=$mac,host_mtu=$LAB_MTU,romfile=" \
        -device virtio-rng-pci -device virtio-serial-pci \
        -chardev "pipe,id=command,path=$vm/command" \
        -device virtserialport,chardev=command,name=cmd \
        -virtfs "local,path=$vm/share,mount_tag=host,security_model=none" \
        </dev/null >"$vm/qemu.log" 2>&1 8>&- 9>&- &
    echo $! >"$vm/launcher" # the pid of timeout; if it is gone, QEMU did not start
    disown                  # bash has nothing to tell when we end it
}

# Waits until a VM is ready, and boots it again if its clock runs wrong (guest-init).
wait_ready() { # id since [boots]
    local id=$1 vm=$state/vm$1 boots=${3:-1}
    until [[ -s $vm/share/ready ]]; do
        sleep 0.05
        if ! kill -0 "$(cat "$vm/launcher")" 2>/dev/null; then
            cat "$vm/qemu.log" >&2
            die "VM $id: QEMU ended"
        fi
        if (($(printf '%.0f' "$(seconds_since "$2")") > LAB_BOOT_SECONDS)); then
            tail -n 20 "$vm/console.log" "$vm/qemu.log" >&2
            die "VM $id was not ready within $LAB_BOOT_SECONDS s"
        fi
    done
    if [[ -e $vm/share/clock ]]; then
        ((boots < 5)) || die "VM $id: its clock was wrong after each of $boots boots"
        say "VM $id: its clock is wrong, it boots again"
        stop_process "$vm/pid" "$vm" KILL
        start_vm "$id" "$(accelerator)"
        wait_ready "$id" "$EPOCHREALTIME" $((boots + 1))
        return
    fi
    say "VM $id is ready after $(seconds_since "$2") s"
}

lab_build() {
    need_machine
    build_image
}

lab_start() {
    local count=${1:-1} id since accel
    [[ $count =~ ^[1-9]$ ]] || die "start: expected 1 to 9 VMs, got '$count'"
    lab_build
    mkdir -p "$state"
    accel=$(accelerator)
    network_up
    since=$EPOCHREALTIME
    for ((id = 1; id <= count; id++)); do start_vm "$id" "$accel"; done
    for ((id = 1; id <= count; id++)); do wait_ready "$id" "$since"; done
}

lab_restart() {
    local id=$1 vm=$state/vm$1 since=$EPOCHREALTIME
    [[ -d $vm ]] || die "there is no VM $id"
    stop_process "$vm/pid" "$vm" KILL
    start_vm "$id" "$(accelerator)"
    wait_ready "$id" "$since"
}

lab_put() {
    mkdir -p "$state/bin"
    install -m 755 "$@" "$state/bin/"
    local vm
    for vm in "$state"/vm*/share/bin; do
        [[ ! -d $vm ]] || install -m 755 "$@" "$vm/"
    done
}

lab_bg() {
    local id=$1 vm=$state/vm$1 job
    shift
    alive "$vm/pid" "$vm" || die "VM $id is not running"
    job=job-${EPOCHREALTIME/[.,]/-}-$BASHPID
    printf '%s\n' "$*" >"$vm/share/jobs/$job.sh"
    echo "$LAB_JOB_SECONDS" >"$vm/share/jobs/$job.limit"
    (
        flock 9
        printf '%s\n' "$job" >"$vm/command.in"
    ) 9>"$vm/command.lock"
    echo "$job"
}

lab_wait() {
    local id=$1 job=$2 limit=${3:-$LAB_JOB_SECONDS} vm=$state/vm$1 since=$SECONDS
    until [[ -e $vm/share/jobs/$job.rc ]]; do
        sleep 0.03
        alive "$vm/pid" "$vm" || die "VM $id died"
        if ((SECONDS - since > limit)); then
            lab_output "$id" "$job"
            die "VM $id: $job has not ended within $limit s"
        fi
    done
    lab_output "$id" "$job"
    return "$(cat "$vm/share/jobs/$job.rc")"
}

lab_output() { cat "$state/vm$1/share/jobs/$2.out"; }

lab_exec() {
    local job
    job=$(lab_bg "$@") || exit $?
    lab_wait "$1" "$job"
}

lab_ns() { exec ip netns exec "$LAB_NS" "$@"; }

lab_capture() {
    local file=$1 filter=${2:-udp port 4791} log=$state/capture.log turns=0
    lab_capture_stop
    rm -f "$log"
    # setsid and `ip netns exec` exec tcpdump, so $! is its pid; -G and -W 1 limit its run time.
    setsid ip netns exec "$LAB_NS" tcpdump -Z root -B 32768 -U -i lab0 -G "$LAB_LIFE" -W 1 \
        -w "$file" "$filter" </dev/null >"$log" 2>&1 &
    echo $! >"$state/capture.pid"
    echo "$file" >"$state/capture.file"
    until grep -q 'listening on' "$log" 2>/dev/null; do
        sleep 0.05
        ((turns++ < 100)) || { cat "$log" >&2 && die "tcpdump did not start"; }
    done
}

lab_capture_stop() {
    [[ -e $state/capture.pid ]] || return 0
    sleep 1.2 # tcpdump reads in batches
    stop_process "$state/capture.pid" "$(cat "$state/capture.file")" INT
    grep -E 'packets (captured|dropped)' "$state/capture.log" >&2 || true
}

lab_status() {
    local vm
    for vm in "$state"/vm*; do
        [[ -d $vm ]] || continue
        if alive "$vm/pid" "$vm"; then
            echo "${vm##*/} runs, pid $(cat "$vm/pid")"
        else
            echo "${vm##*/} stopped"
        fi
    done
}

lab_console() { cat "$state/vm$1/console.log"; }

lab_stop() {
    lab_capture_stop
    local vm
    for vm in "$state"/vm*; do
        [[ ! -d $vm ]] || stop_process "$vm/pid" "$vm" TERM
    done
    if [[ -e $state/namespace-is-ours ]]; then
        ip netns del "$LAB_NS"
        rm -f "$state/namespace-is-ours"
    fi
    rm -rf "${state:?}/bin"
}

lab_clean() {
    lab_stop
    rm -rf "$LAB_DIR"
}

verb=${1:-help}
[[ $# == 0 ]] || shift
case $verb in
    build | start | restart | put | exec | bg | wait | output | ns | capture | status | console | \
        stop | clean)
        "lab_$verb" "$@"
        ;;
    capture-stop) lab_capture_stop ;;
    help | -h | --help) sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" ;;
    *)
        say "unknown command: $verb (see lab.sh help)"
        exit 2
        ;;
esac
