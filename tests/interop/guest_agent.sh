# shellcheck shell=bash
# Sourced by run.sh and live.sh: veriroce-agent in VM 1, with rxe behind it. Wants $lab, $agent (the
# program), $device (HOST:PORT there) and $token_file (of this host).

# The token goes in as a file that only root there can read, as the agent demands.
start_agent() {
    "$lab" put "$agent"
    "$lab" exec 1 "umask 077; echo '$(cat "$token_file")' >/root/token"
    # shellcheck disable=SC2034 # the caller reads what this job says
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

# new_token FILE: of mode 600.
new_token() {
    (umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$1")
}
