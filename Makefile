# What there is to do here; `make` alone lists it.
#
# Everything runs in .venv, which the first target that needs it makes from requirements.lock with nothing but pip.
# PYTHON=… and JAVA_HOME=… name the interpreter and the JDK to use; ARGS=… goes on to pytest or to uv.
# All paths are relative, so that the checkout may lie anywhere, and GNU make 3.81 (macOS) is enough.

DEMO_SCENARIO := scenarios/library/order_processing.yaml
DEMO          := assignor-sim run $(DEMO_SCENARIO) --out out/demo
FIRST_RUN     := python -m assignor_sim run order_processing
DEMO_SWEEP    := assignor-sim sweep return_of_balance --out out/demo-sweep
DEMO_REPORT   := assignor-sim report out/demo out/demo-sweep -o out/report.html

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help demo test test-answers test-spark test-kafka test-browser lint types layers check bench performance bench-pipeline spark-cluster \
	parity wheel-test lock clean .venv machine

help: ## List what there is to do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

demo: .venv ## Set up, then compare assignors on a shipped scenario, 48 runs of another on Spark, and a page of both
	@echo '$(DEMO)'
	@.venv/bin/$(DEMO)
	@rm -rf out/demo-sweep
	@printf '\n%s\n' '$(DEMO_SWEEP)'
	@.venv/bin/$(DEMO_SWEEP)
	@printf '\n%s\n' '$(DEMO_REPORT)'
	@.venv/bin/$(DEMO_REPORT)

# What takes long has targets of its own.
ANSWERS := tests/parity tests/contract tests/relations
APART   := $(ANSWERS) tests/pipeline tests/browser tests/real_kafka

test: .venv ## Set up, then run the tests (a part of them: ARGS="-k rack")
	.venv/bin/python -m pytest --numprocesses=auto --dist=loadfile $(APART:%=--ignore=%) $(ARGS)

test-answers: .venv ## Compare with Kafka's recorded answers, and test contracts on random groups and relations on random worlds
	.venv/bin/python -m pytest --numprocesses=auto --dist=load $(ANSWERS) $(ARGS)

test-spark: .venv ## Run the tests that need Spark: embedded, and a cluster whose processes are killed
	.venv/bin/python -m pytest tests/pipeline $(ARGS)

test-kafka: .venv ## Predict what real Kafkas will do, and look; carry out plans on one (needs Maven)
	.venv/bin/python -m pytest tests/real_kafka $(ARGS)

test-browser: .venv ## Run the tests of the pages in Chromium (Debian's: apt-get install chromium)
	.venv/bin/python -m pytest tests/browser $(ARGS)

lint: .venv ## Check style, format (ruff) and plain words
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/python -m tools.plain_words

types: .venv ## Check the types of the packages (mypy --strict)
	.venv/bin/mypy

layers: .venv ## Check that imports run downwards only (import-linter)
	.venv/bin/lint-imports --no-logo

check: lint types layers ## Check all three

LIMIT    := 20

bench: .venv ## Time and weigh us, and time Kafka (KAFKA=4.3.1 LIMIT=20 seconds a problem; KAFKA= leaves Kafka out)
	@mkdir -p out
	.venv/bin/python -m pytest tests/benchmarks --benchmark-only --benchmark-quiet --benchmark-json=out/bench.json \
		--kafka='$(KAFKA)' --limit='$(LIMIT)' $(ARGS)
	@.venv/bin/python -m tools.performance_page out/bench.json

performance: bench ## The same, and write docs/reference/performance.md from it
	@.venv/bin/python -m tools.performance_page out/bench.json --write

bench-pipeline: .venv ## Time Spark against a plain pool of processes, and write docs/reference/pipeline-performance.md
	.venv/bin/python -m tools.pipeline_benchmark --write $(ARGS)

spark-cluster: .venv ## Start a Spark master and two workers on this machine, until Ctrl-C
	@.venv/bin/python -m tools.spark_cluster $(ARGS)

KAFKA    := 4.3.1
PROBLEMS := 3000
SEED     := 1

parity: .venv ## Put random problems to a released Kafka and to us (KAFKA=3.9.1 PROBLEMS=3000 SEED=1; needs Maven)
	.venv/bin/python -m tools.kafka_oracle parity --kafka $(KAFKA) --problems $(PROBLEMS) --seed $(SEED)
	.venv/bin/python -m tools.kafka_oracle threads --kafka $(KAFKA) --problems $(PROBLEMS) --seed $(SEED)

wheel-test: .venv ## Build the wheel, install it in an empty environment and run it there
	@sh tools/check_wheel.sh $(notdir $(DEMO_SCENARIO))

lock: machine ## Make requirements.lock again; versions that still fit stay (the newest: ARGS=--upgrade)
	"$$($(FIND_PYTHON))" -m venv --clear build/lock
	build/lock/bin/python -m pip --quiet --disable-pip-version-check install uv
	cp requirements.lock build/lock/pins.txt
	build/lock/bin/uv --no-config pip compile --quiet --universal --python-version 3.11 --group dev --generate-hashes \
		--no-header $(ARGS) --output-file build/lock/pins.txt pyproject.toml
	{ grep '^#' requirements.lock; cat build/lock/pins.txt; } > build/lock/requirements.lock
	mv build/lock/requirements.lock requirements.lock

clean: ## Remove what was built, measured or cached; .venv stays
	rm -rf build dist out .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is good for these packages, in this folder, with this interpreter; the name of its stamp says which.
# The stamp is made last and removed first, so that an interrupted set-up begins again from nothing. The first run of
# all compiles what later ones find compiled.
FIND_PYTHON  := PYTHON='$(PYTHON)' JAVA_HOME='$(JAVA_HOME)' sh tools/check_machine.sh
WHAT_MATTERS := pwd -P; echo '$(PYTHON)'; cat requirements.lock; awk '/^\[/ { on = /project|build/ } on' pyproject.toml
STAMP        := .venv/.installed-$(shell { $(WHAT_MATTERS); } | cksum | tr ' ' '-')
PIP          := .venv/bin/python -m pip --quiet --disable-pip-version-check --no-input

.venv: $(STAMP)
ifneq ($(shell test -x .venv/bin/python && echo runs),runs)
.PHONY: $(STAMP)
endif

$(STAMP): | machine
	@echo 'Setting up .venv from requirements.lock, once (pip is silent meanwhile; about 500 MB where nothing is cached)'
	@rm -f .venv/.installed-*
	@mkdir -p build
	@"$$($(FIND_PYTHON))" -m venv --clear .venv
	@$(PIP) install --root-user-action=ignore --use-pep517 --require-hashes --requirement requirements.lock
	@$(PIP) install --root-user-action=ignore --no-deps --no-build-isolation --editable .
	@.venv/bin/$(FIRST_RUN) > build/first-run.txt 2>&1 || { cat build/first-run.txt; exit 1; }
	@touch $@

# Ends at once, with one line, where Python or Java are missing or too old.
COMPLAINT = $(shell $(FIND_PYTHON) 2>&1 >/dev/null)
machine:
	@$(if $(COMPLAINT),$(error $(COMPLAINT))):
