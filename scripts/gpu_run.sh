#!/usr/bin/env bash
# On the GPU machine, in a working tree with the folder that gpu_prepare.mjs made: unpacks it, and runs
# `node scripts/gpu_test.mjs` with the arguments, or with -- another command.
set -eu
cd "$(dirname "$0")/.."
prepared=${USM_IPC_GPU_FOLDER:-.gpu}
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
xz -dc "$prepared/node.xz" >"$tools/node"
chmod +x "$tools/node"
tar xJf "$prepared/built.tar.xz"
[ -d node_modules/ava ] || tar xJf "$prepared/modules.tar.xz"
export PATH="$tools:$PATH"
if [ "${1:-}" = -- ]; then
  shift
  "$@"
else
  node scripts/gpu_test.mjs "$@"
fi
