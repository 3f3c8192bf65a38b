#!/bin/sh
# Builds the wheel, installs it in an empty environment, and runs it from an empty folder.
#
# pip installs only the dependencies that the wheel declares, at the versions of requirements.lock, so that undeclared
# dependencies and missing data files are detected. pytest is installed last.
#
# $1: file name of the shipped scenario to run
set -eu

scenario=$1
cd "$(dirname "$0")/.."
root="$PWD/build/wheel-test"
packages="assignors pipeline reports scenarios simulator"

say() { echo "-- $*"; }

# Runs a command of the empty environment in the empty folder, without access to the checkout.
try() {
    say "$@"
    (cd "$root/empty" && unset PYTHONPATH && PATH="$root/venv/bin:$PATH" "$@")
}

rm -rf "$root"
mkdir -p "$root/empty"

say "build the wheel"
.venv/bin/python -m build --wheel --no-isolation --outdir "$root" >"$root/build.log" 2>&1 || {
    cat "$root/build.log"
    exit 1
}
ls -l "$root"/*.whl

say "install it with its dependencies in an empty environment"
.venv/bin/python -m venv "$root/venv"
sed -n 's/ *\\$//; /^[a-z0-9].*==/p' requirements.lock >"$root/constraints.txt"
"$root/venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input install --root-user-action=ignore \
    --use-pep517 --no-compile --constraint "$root/constraints.txt" "$root"/*.whl
"$root/venv/bin/python" -m pip --disable-pip-version-check check

for package in $packages; do
    try python -c "import sys, assignor_sim.$package as p; assert p.__file__.startswith(sys.prefix), p.__file__"
    try python -c "import $package" 2>/dev/null && {
        echo "the wheel installs a top-level package $package" >&2
        exit 1
    }
done
try assignor-sim --help
try assignor-sim list
library=$(try python -c "import importlib.resources as r; print(r.files('assignor_sim.scenarios') / 'library')" | tail -1)
try assignor-sim run "$library/$scenario" --out result
test -s "$root/empty/result/manifest.json" || {
    echo "the run wrote no result/manifest.json" >&2
    exit 1
}
try assignor-sim show result
try assignor-sim verify "$library/$scenario"

say "run an assignor in Java"
newest=$(try python -c "from assignor_sim.assignors.kafka_releases import PATCHES; print(PATCHES[-1])" | tail -1)
try assignor-sim run rolling_bounce --assignor "java:kafka-streams@$newest:high_availability"

say "import from a running cluster, which requires the extra"
refused=$(try assignor-sim import --bootstrap localhost:1 --group app -o app.yaml 2>&1 || true)
case $refused in *"pip install assignor-sim[kafka]"*) ;; *)
    echo "$refused" >&2
    exit 1
    ;;
esac
"$root/venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input install --root-user-action=ignore \
    --constraint "$root/constraints.txt" "$(echo "$root"/*.whl)[kafka]"
try python -c "from assignor_sim.scenarios.kafka.live.connection import StreamsGroupDescribeRequest as R; R(group_ids=['app']).encode(version=0)"

say "test scenarios in another project that has only the wheel and pytest"
"$root/venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input install --root-user-action=ignore \
    --constraint "$root/constraints.txt" pytest
mkdir "$root/empty/scenarios"
cp -r "$library/$scenario" "$library/captured" "$root/empty/scenarios" # the scenario imports these files
printf "[pytest]\n" >"$root/empty/pytest.ini" # otherwise pytest uses the settings of the checkout
try pytest -q -p no:cacheprovider --assignor-scenarios scenarios --assignor-update
passed=$(try pytest -q -p no:cacheprovider --assignor-scenarios scenarios)
echo "$passed"
case $passed in *"1 passed"*) ;; *)
    echo "pytest did not verify the scenario" >&2
    exit 1
    ;;
esac
rm -rf "$root/venv" # more than a gigabyte
say "the wheel works without the checkout"
