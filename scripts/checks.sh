# Starts a server and a scripted model on free ports, and runs checks of tests/sdk against them.
# Sourced by the scripts that have checks to run; works in the repository's folder.
# shellcheck shell=bash

# How the caller is called in what is printed.
checks=${0##*/}
checks=${checks%-checks}
data=$(mktemp -d)
export RATCHET_PUBLIC_KEY=pk-lf-sdk-checks RATCHET_SECRET_KEY=sk-lf-sdk-checks

# The first line on stdout is one JSON object with the addresses.
exec 3< <(RATCHET_INIT_PROJECT_ID=sdk-checks RATCHET_INIT_PUBLIC_KEY=$RATCHET_PUBLIC_KEY \
    RATCHET_INIT_SECRET_KEY=$RATCHET_SECRET_KEY \
    RATCHET_INIT_OWNER_EMAIL=owner@example.com RATCHET_INIT_OWNER_PASSWORD=only-for-checks \
    exec "${CARGO_TARGET_DIR:-target}/debug/ratchet" serve --json --data "$data" \
    --listen 127.0.0.1:0 --otlp-grpc 127.0.0.1:0 --otlp-http off 2>"$data/log")
server=$!
# Says what the checks of other libraries tell it to, until its stdin ends.
coproc MODEL { exec "${CARGO_TARGET_DIR:-target}/debug/scripted-model"; }
stop() {
    kill -TERM "$server" "$MODEL_PID" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    rm -rf "$data"
}
trap stop EXIT
if ! read -r -t 60 ready <&3; then
    cat "$data/log" >&2
    exit 1
fi
address() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" <<<"$ready"; }
RATCHET_URL=$(address web)
RATCHET_GRPC_URL=$(address otlpGrpc)
read -r -t 60 SCRIPTED_MODEL_URL <&"${MODEL[0]}"
export RATCHET_URL RATCHET_GRPC_URL SCRIPTED_MODEL_URL
export RATCHET_BIN="${CARGO_TARGET_DIR:-target}/debug/ratchet"
export SDK_CHECKS=$PWD/tests/sdk
export CLAUDE_BIN=.setup/npm-agents/node_modules/.bin/claude

failed=()
# Runs one check; what it and its SDK have to say is shown only if it fails.
check() {
    local name=$1
    shift
    local began=$SECONDS
    if "$@" >"$data/said" 2>&1; then
        echo "$checks: $name: ok, $((SECONDS - began)) s"
    else
        echo "$checks: $name: failed" >&2
        tail -n 200 "$data/said" >&2
        failed+=("$name")
    fi
}
python() {
    local script=$1 setup=$2
    shift 2
    check "$script${*:+ $*} with $setup" ".setup/$setup/bin/python" "tests/sdk/$script" "$@"
}
javascript() {
    local script=$1 setup=$2
    shift 2
    check "$script${*:+ $*} with $setup" node ".setup/$setup/$script" "$@"
}
# Ends with status 1 if a check has failed.
finish() {
    if [ ${#failed[@]} -eq 0 ]; then exit; fi
    local name
    for name in "${failed[@]}"; do echo "$checks: failed: $name" >&2; done
    echo "$checks: the last lines of the server's log:" >&2
    tail -n 50 "$data/log" >&2
    exit 1
}
