#!/bin/sh
# Prepares a release: moves changes/ to the changelog, builds sdist and wheel in dist/, and checks both.
# Uploads and tags nothing; towncrier stages the changelog and the removed files with git.
#
# $1: version, which must be that of pyproject.toml
set -eu

cd "$(dirname "$0")/.."
version=$1
grep -q "^version = \"$version\"" pyproject.toml || {
    echo "error: pyproject.toml: version is not $version (set project.version first)" >&2
    exit 2
}
python=.venv/bin/python
[ -x "$python" ] || python=python

mkdir -p build
rm -rf dist
"$python" -m build --no-isolation --outdir dist . >build/release.log 2>&1 || {
    cat build/release.log
    exit 1
}
"$python" -m twine check --strict dist/*
"$python" -m towncrier build --version "$version" --yes
ls -l dist
echo "Next: review CHANGELOG.md, commit, and tag v$version."
