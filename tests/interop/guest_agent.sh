# shellcheck shell=bash
# Sourced by run.sh and live.sh: starts veriroce-agent with rxe in VM 1. Needs $lab, $agent (the
# program), $device (HOST:PORT in the VM) and $token_file (on this host).

# The agent requires a token file that only its user (root in the VM) can read.
start_agent() {
    "$lab" put "$agent"
    "$lab" exec 1 "umask 077; echo '$(cat "$token_file")' >/root/token"
    # shellcheck disable=SC2034 # the caller reads the output of this job
    agent_job=$("$lab" bg 1 "veriroce-agent --backend verbs --listen $device \
        --token-file /root/token")
    local turns=0
    until "$lab" ns bash -c "exec 3<>/dev/tcp/${device/:/\/}" 2>/dev/null; do
        if ((turns++ >= 50)); then
            "$lab" output 1 "$agent_job" >&2
            echo "interop: the agent does not listen on $device" >&2
            return 1
        fi
        sleep 0.2
    done
}

# new_token FILE: writes a token with mode 600.
new_token() {
    (umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$1")
}
