#!/bin/sh
# Clones HEAD into an empty temporary folder and runs .ci/run there, as for a change that is submitted.
#
# A folder `shared` beside the checkout is copied beside the clone. If the run passes, the commit's hash is written to the
# file `gate` in the git directory; otherwise the log is kept, and its last lines are printed.
set -eu

root=$(git rev-parse --show-toplevel)
record=$(git rev-parse --absolute-git-dir)/gate
commit=$(git rev-parse HEAD)
if [ -n "$(git status --porcelain)" ]; then
    echo "gate: changes that are not committed are not tested" >&2
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/gate-XXXXXX")
log=$(mktemp "${TMPDIR:-/tmp}/gate-log-XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

git clone --quiet --no-local "$root" "$folder/main"
git -C "$folder/main" checkout --quiet --detach "$commit"
[ ! -d "$root/../shared" ] || cp -r "$root/../shared" "$folder/shared"
rm -f "$record"
echo "gate: testing $commit; the log is $log"
# make must not pass its own variables to the makes of the run.
if (cd "$folder/main" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL CI=true bash .ci/run </dev/null >"$log" 2>&1); then
    grep -E '^(---|All passed)' "$log"
    echo "$commit" >"$record"
    rm -f "$log"
else
    grep -E '^(---|\*\*\*)' "$log" || true
    tail -60 "$log"
    echo "gate: failed; the log is $log" >&2
    exit 1
fi
