#!/usr/bin/env bash
# Puts MLflow and Phoenix under the very same load as Ratchet, one after the other, and prints how
# many times as fast and as cheap Ratchet is on this machine. The peers live in .setup; their data
# in a temporary folder. Arguments go to ratchet-bench: scripts/bench-peers.sh --seconds 10
set -euo pipefail
cd "$(dirname "$0")/.."

MLFLOW_VERSION=3.17.2
PHOENIX_VERSION=20.26.1

say() { printf 'bench-peers: %s\n' "$*" >&2; }

environment() {
    local name=$1 package=$2
    if [ "$(cat ".setup/$name.version" 2>/dev/null)" = "$package" ]; then return; fi
    say "installing $package into .setup/$name"
    rm -rf ".setup/$name"
    python3 -m venv ".setup/$name"
    ".setup/$name/bin/python" -m pip install --quiet --disable-pip-version-check "$package"
    printf '%s' "$package" >".setup/$name.version"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Waits until a URL answers, whatever it says, or the process is gone.
wait_for() {
    local url=$1 pid=$2
    for _ in $(seq 1 240); do
        if python3 -c "import urllib.request as u; u.urlopen('$url', timeout=2)" 2>/dev/null; then return; fi
        if ! kill -0 "$pid" 2>/dev/null; then break; fi
        sleep 0.5
    done
    say "$url does not answer; see $DATA"
    exit 1
}

# Few loads: a peer that takes minutes for a second's worth of spans says enough with these.
measure() {
    local url=$1 pid=$2
    shift 2
    target/release/ratchet-bench --only recording --connections 1,4 --batches 10,100 \
        --peer "$url" --pid "$pid" "$@"
}

DATA=$(mktemp -d)
PEER=
finish() {
    if [ -n "$PEER" ]; then kill "$PEER" 2>/dev/null || true; wait "$PEER" 2>/dev/null || true; fi
    rm -rf "$DATA"
}
trap finish EXIT

mkdir -p .setup
environment mlflow "mlflow==$MLFLOW_VERSION"
environment phoenix "arize-phoenix==$PHOENIX_VERSION"
cargo build --release --locked -p ratchet-cli -p ratchet-bench

say "MLflow $MLFLOW_VERSION"
port=$(free_port)
MLFLOW_DISABLE_TELEMETRY=true .setup/mlflow/bin/mlflow server --host 127.0.0.1 --port "$port" \
    --backend-store-uri "sqlite:///$DATA/mlflow.db" --artifacts-destination "$DATA/artifacts" \
    >"$DATA/mlflow.log" 2>&1 &
PEER=$!
wait_for "http://127.0.0.1:$port/health" "$PEER"
measure "http://127.0.0.1:$port" "$PEER" --header "x-mlflow-experiment-id: 0" "$@"
kill "$PEER" && wait "$PEER" || true

say "Phoenix $PHOENIX_VERSION"
port=$(free_port)
PHOENIX_PORT=$port PHOENIX_GRPC_PORT=$(free_port) PHOENIX_HOST=127.0.0.1 \
    PHOENIX_WORKING_DIR=$DATA/phoenix PHOENIX_TELEMETRY_ENABLED=false \
    .setup/phoenix/bin/phoenix serve >"$DATA/phoenix.log" 2>&1 &
PEER=$!
wait_for "http://127.0.0.1:$port/healthz" "$PEER"
measure "http://127.0.0.1:$port" "$PEER" "$@"
