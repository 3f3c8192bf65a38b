# Targets for development; `make` alone lists them.
#
# Everything runs in .venv, which the first target that needs it makes from requirements.lock with nothing but pip.
# PYTHON=… and JAVA_HOME=… name the interpreter and the JDK to use; ARGS=… is passed to pytest or uv.
# All paths are relative, so the checkout can be in any folder. GNU make 3.81 (macOS) suffices.

DEMO_SCENARIO := scenarios/library/order_processing.yaml
DEMO          := assignor-sim run $(DEMO_SCENARIO) --out out/demo
FIRST_RUN     := python -m assignor_sim run order_processing
DEMO_SWEEP    := assignor-sim sweep return_of_balance --out out/demo-sweep
DEMO_REPORT   := assignor-sim report out/demo out/demo-sweep -o out/report.html

# Bytecode is always cached, by the first import: without the cache, each process of the tests compiles every module anew.
unexport PYTHONDONTWRITEBYTECODE

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help demo test test-answers test-spark test-kafka test-browser javascript lint types layers check gate certify bridge bench performance spark-cluster \
	parity parity-brokers parity-consumers parity-groups kafka-tests leaderboard releases new-releases changed-classes docs docs-build docs-version readme wheel release wheel-test lock sbom clean .venv machine

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

demo: .venv ## Set up, compare assignors on a shipped scenario, run a sweep on Spark, and write a page of both
	@echo '$(DEMO)'
	@.venv/bin/$(DEMO)
	@rm -rf out/demo-sweep
	@printf '\n%s\n' '$(DEMO_SWEEP)'
	@.venv/bin/$(DEMO_SWEEP)
	@printf '\n%s\n' '$(DEMO_REPORT)'
	@.venv/bin/$(DEMO_REPORT)

# `pytestmark = pytest.mark.SUITE` in a test file says which target runs it; `make test` runs the files without one. Tests
# that are also marked `slow` run with SLOW=1 only, which `make certify` sets.
marked     = $(shell grep -r$(1)E --include='test_*.py' '^pytestmark = .*pytest\.mark\.($(2))\b' $(IN) | sort)
suite      = $(call marked,l,$(1)) -m '$(1)$(FAST)'
FAST      := $(if $(SLOW),, and not slow)
IN        := tests
SUITES    := answers|spark|object_store|yarn|connect|browser|kafka|bench
PYTEST    := @.venv/bin/python -m pytest

test: .venv ## Set up, then run the tests (a part of them: IN=tests/assignors ARGS="-k rack")
	$(PYTEST) --numprocesses=auto --dist=loadfile $(call marked,L,$(SUITES)) $(ARGS)

test-answers: .venv ## Compare with Kafka's recorded assignments and times; test contracts, relations, examples, hostile input (all: SLOW=1)
	$(PYTEST) --numprocesses=auto --dist=worksteal $(call suite,answers) $(ARGS)

test-spark: .venv ## Run the tests that need Spark (SLOW=1: also on a cluster whose processes are killed, S3, YARN and Spark Connect)
	$(PYTEST) --numprocesses=2 --dist=loadfile --no-loadscope-reorder $(call suite,spark) $(ARGS)
	$(if $(SLOW),@$(MAKE) -j3 spark-object_store spark-yarn spark-connect)

# Each has a Spark session of another kind, so each needs a process of its own; most of its time, it waits for servers.
spark-%: .venv
	$(PYTEST) $(call suite,$*) $(ARGS)

test-kafka: .venv bridge ## Run assignors in Java; compare with a real Kafka cluster (SLOW=1: predictions on all releases; needs Maven)
	$(PYTEST) --numprocesses=2 --dist=loadfile --no-loadscope-reorder $(call suite,kafka) $(ARGS)

# Versions and checksums are in package-lock.json; the stamp is made last, so an interrupted installation starts again.
NODE_MODULES := tests/javascript/node_modules/.installed

$(NODE_MODULES): tests/javascript/package.json tests/javascript/package-lock.json
	cd tests/javascript && npm ci --no-progress --silent
	@touch $@

javascript: .venv $(NODE_MODULES) ## Lint and test the scripts of the pages; check the Grafana dashboard (Debian's: apt-get install nodejs npm)
	tests/javascript/node_modules/.bin/eslint --config tests/javascript/eslint.config.js --max-warnings 0 \
		reports/render/html/assets tests/javascript
	cd tests/javascript && node --test

test-browser: .venv $(NODE_MODULES) ## Run the tests of the pages in Chromium, with axe-core (apt-get install chromium nodejs npm)
	$(PYTEST) --numprocesses=2 --dist=worksteal $(call suite,browser) $(ARGS)

lint: .venv ## Check style and format (ruff) and wording (plain words)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/python -m tools.plain_words

types: .venv ## Check the types of the packages (mypy --strict)
	.venv/bin/mypy

layers: .venv ## Check that imports run downwards only (import-linter)
	.venv/bin/lint-imports --no-logo

check: lint types layers ## Run lint, types and layers

gate: ## Run .ci/run in a clone of HEAD in an empty folder; write the commit to the file `gate` of the git directory if it passes
	@sh tools/gate.sh

certify: .venv ## Run every test at full count, continue where it was interrupted, write docs/reference/certification.md (hours; needs Maven)
	@.venv/bin/python -m tools.certify $(ARGS)

LIMIT := 20
DAYS  := 30

bench: .venv ## Measure time and memory, and the time of Kafka (KAFKA=4.4 LIMIT=20 seconds per problem, KAFKA= skips Kafka; DAYS=30 of readings)
	@mkdir -p out
	.venv/bin/python -m pytest tests/benchmarks --benchmark-only --benchmark-quiet --benchmark-json=out/bench.json \
		--kafka='$(KAFKA)' --limit='$(LIMIT)' --days='$(DAYS)' $(ARGS)
	@.venv/bin/python -m tools.performance_page out/bench.json

performance: bench ## Run bench, store the measurements and write docs/development/performance.md
	@.venv/bin/python -m tools.performance_page out/bench.json --write

spark-cluster: .venv ## Start a Spark master and two workers on this machine, until Ctrl-C
	@.venv/bin/python -m tests.spark_cluster $(ARGS)

KAFKA    := 4.4
PROBLEMS := 3000
SEED     := 1

parity: .venv ## Compare with a released Kafka on random problems (KAFKA=4.4 PROBLEMS=3000 SEED=1; needs Maven)
	.venv/bin/python -m tools.kafka_oracle parity --kafka $(KAFKA) --problems $(PROBLEMS) --seed $(SEED)
	.venv/bin/python -m tools.kafka_oracle threads --kafka $(KAFKA) --problems $(PROBLEMS) --seed $(SEED)

BROKERS := 4.4
GROUPS  := 5000

parity-brokers: .venv bridge ## Compare with the configs and the assignor of a released broker on random streams groups (BROKERS=4.4 GROUPS=5000 SEED=1; needs Maven)
	.venv/bin/python -m tools.kafka_group_oracle configs --kafka $(BROKERS)
	.venv/bin/python -m tools.kafka_group_oracle compare --kafka $(BROKERS) --groups $(GROUPS) --rounds 4 --seed $(SEED)

RELEASE := 4.4

parity-consumers: .venv ## Compare consumer assignors with released clients and brokers on random groups (RELEASE=4.4 PROBLEMS=3000 SEED=1, ASSIGNOR=uniform for one; needs Maven)
	.venv/bin/python -m tools.kafka_consumer_oracle compare --kafka $(RELEASE) --problems $(PROBLEMS) --seed $(SEED)$(if $(ASSIGNOR), --assignor $(ASSIGNOR))

HISTORIES := 1000

parity-groups: .venv ## Compare the model of the group coordinator with the released ones on random histories (HISTORIES=1000 SEED=1; needs Maven)
	.venv/bin/python -m tests.group_histories compare --histories $(HISTORIES) --seed $(SEED)

kafka-tests: .venv ## Run Kafka's own unit tests of assignment with this project's answers, for each release (half an hour; needs Maven)
	.venv/bin/python -m tests.kafka_tests $(ARGS)

leaderboard: .venv bridge ## Compute AssignorBench again and write docs/benchmark/leaderboard.md (15 minutes on 2 cores; needs Maven)
	.venv/bin/python -m tools.leaderboard all $(ARGS)

releases: .venv ## Write docs/reference/releases.md: what changed between Kafka releases
	.venv/bin/python -m tools.releases page

new-releases: .venv ## Ask Maven Central for Kafka releases that the project does not know; fail if there are any (needs Maven)
	.venv/bin/python -m tools.releases new

FROM := 4.3
TO   := 4.4

changed-classes: .venv ## Print what changed in the classes that assign tasks (FROM=4.3 TO=4.4; needs Maven)
	.venv/bin/python -m tools.releases classes --from $(FROM) --to $(TO)

MKDOCS := NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs

docs: .venv ## Serve the documentation as a site on http://127.0.0.1:8000, until Ctrl-C
	@$(MKDOCS) serve --no-strict

docs-build: .venv ## Build the site in build/site; fail at a broken link or a page without a place in the navigation
	@$(MKDOCS) build --strict --quiet

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)

docs-version: .venv ## Build the site of VERSION (default: that of pyproject.toml) on the branch gh-pages, as the latest
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mike deploy --update-aliases $(VERSION) latest
	@.venv/bin/mike set-default latest

readme: .venv ## Write current output, figures and the picture into the README
	@.venv/bin/python -m tools.readme

bridge: .venv ## Build the program that runs assignors in Java, which the wheel ships (needs Maven)
	@.venv/bin/python -m tools.bridge

wheel: .venv bridge ## Build the wheel in dist/
	@.venv/bin/python -m build --wheel --no-isolation --outdir dist

release: .venv bridge ## Move changes/ to the changelog as VERSION, build sdist and wheel in dist/ and check them with twine
	@sh tools/release.sh $(VERSION)

wheel-test: .venv bridge ## Build the wheel, install it in an empty environment and run it
	@sh tools/check_wheel.sh $(notdir $(DEMO_SCENARIO))

lock: machine ## Update requirements.lock; keep versions that still fit (newest versions: ARGS=--upgrade)
	"$$($(FIND_PYTHON))" -m venv --clear build/lock
	build/lock/bin/python -m pip --quiet --disable-pip-version-check install uv
	cp requirements.lock build/lock/pins.txt
	build/lock/bin/uv --no-config pip compile --quiet --universal --python-version 3.11 --group dev --generate-hashes \
		--no-header $(ARGS) --output-file build/lock/pins.txt pyproject.toml
	{ grep '^#' requirements.lock; cat build/lock/pins.txt; } > build/lock/requirements.lock
	mv build/lock/requirements.lock requirements.lock

sbom: .venv ## Write the bill of materials of all pinned packages, out/sbom.json (CycloneDX)
	@.venv/bin/python -m tools.sbom out/sbom.json

clean: ## Remove build products, measurements and caches; keep .venv
	rm -rf build dist out tests/javascript/node_modules .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# The name of the stamp is a checksum of folder, interpreter and packages, so .venv is made again if one of them changes.
# The stamp is made last and removed first, so an interrupted set-up starts again. The first run fills Numba's cache.
FIND_PYTHON  := PYTHON='$(PYTHON)' JAVA_HOME='$(JAVA_HOME)' sh tools/check_machine.sh
SET_UP_INPUTS := pwd -P; echo '$(PYTHON)'; cat requirements.lock; awk '/^\[/ { on = /project|build/ } on' pyproject.toml
STAMP        := .venv/.installed-$(shell { $(SET_UP_INPUTS); } | cksum | tr ' ' '-')
PIP          := .venv/bin/python -m pip --quiet --disable-pip-version-check --no-input

.venv: $(STAMP)
ifneq ($(shell test -x .venv/bin/python && echo runs),runs)
.PHONY: $(STAMP)
endif

# The pip of the lock file comes first: that of Python 3.11 takes twice as long for the others.
$(STAMP): | machine
	@echo 'Setting up .venv from requirements.lock (pip is silent; downloads about 500 MB if nothing is cached)'
	@rm -f .venv/.installed-*
	@mkdir -p build
	@"$$($(FIND_PYTHON))" -m venv --clear .venv
	@sed -n '/^pip==/,/[^\]$$/p' requirements.lock > build/pip.txt
	@$(PIP) install --root-user-action=ignore --no-deps --require-hashes --requirement build/pip.txt
	@$(PIP) install --root-user-action=ignore --no-deps --use-pep517 --no-compile --require-hashes --requirement requirements.lock
	@$(PIP) install --root-user-action=ignore --no-deps --no-build-isolation --editable .
	@.venv/bin/$(FIRST_RUN) > build/first-run.txt 2>&1 || { cat build/first-run.txt; exit 1; }
	@touch $@

# Stop with one line if Python or Java is missing or too old.
MACHINE_ERROR = $(shell $(FIND_PYTHON) 2>&1 >/dev/null)
machine:
	@$(if $(MACHINE_ERROR),$(error $(MACHINE_ERROR))):
