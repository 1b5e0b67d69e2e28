# Everything a person or CI runs. Each target works in a fresh clone with Python, make and npm.
PYTHON ?= python3
PORT ?= $(or $(FMSVC_PORT),8000)
BIN := .venv/bin
INSTALLED := .venv/installed
NETWORK := tests/network/node/node_modules/.package-lock.json
CONSUMERS := tests/consumers/node_modules/.package-lock.json

# A test run begins some hundred processes: none is to compile the program anew, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help serve demo test test-long test-fast lint map clients lexicons sdk network bench soak cluster engines test-duckdb-next lock clean
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-18s %s\n", $$1, $$2}' Makefile

serve: $(INSTALLED) ## follow the public relay; the API is on 127.0.0.1:PORT
	@FMSVC_PORT=$(PORT) exec $(BIN)/fmsvc-server serve

demo: $(INSTALLED) $(NETWORK) ## the same against a network of its own on loopback, filled with music
	@PORT=$(PORT) exec $(BIN)/python -m tests.network.demo

test: lint $(NETWORK) $(CONSUMERS) ## lint, and all tests but the slow ones; with SLOW=1 these as well
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder --durations 5 $(if $(SLOW),,-m "not slow")

test-long: ## all tests, with many rounds of what is random: a night
	SLOW=1 SCENARIO_RUNS=60 NETWORK_ROUNDS=3 INTERLEAVINGS=50 KILLS=20 LOG_KILLS=50 LIVE_KILLS=200 CRASH_KILLS=20 SEARCH_KILLS=20 \
		MIGRATION_KILLS=20 FULL_DISK_ROUNDS=40 BACKUP_KILLS=10 EXPORT_HISTORIES=5000 SQL_ATTACKS_STRIDE=1 PUBLISHING_KILLS=40 \
		TAKEDOWN_ROUNDS=60 WORKS_STEPS=400 \
		REBUILD_CALLS=1000 REBUILD_KILLS=10 COUNT_ROUNDS=300 COST_ROWS=100000 CUSTODY_STRIDE=1 TREE_CASES=100000 \
		FMSVC_TEST_SCHEMATHESIS=15 $(MAKE) test

test-fast: lint ## before each commit: lint, and the tests that need no other programs and write no files
	$(BIN)/pytest --quiet --numprocesses auto --dist worksteal -m "not slow and not network and not stores"

lint: $(INSTALLED) ## format, style, types, who imports whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

map: $(INSTALLED) ## write docs/map.md from the modules' docstrings
	$(BIN)/python docs/map.py > docs/map.md

clients: $(INSTALLED) ## write docs/clients.md from fmsvc/operations.py
	$(BIN)/python docs/clients.py > docs/clients.md

lexicons: $(INSTALLED) ## write the lexicons of the XRPC methods from their routes
	$(BIN)/python docs/query_lexicons.py

sdk: $(INSTALLED) ## write fmsvc/_sync from fmsvc/_async
	$(BIN)/python docs/generate_sync.py

network: $(INSTALLED) $(NETWORK) $(CONSUMERS) ## install the test network and other people's programs

bench: $(INSTALLED) ## measure, one JSON line for each figure
	$(BIN)/python -m tests.bench

soak: $(INSTALLED) ## ten minutes at full speed, watching memory and lag
	$(BIN)/python -m tests.bench.soak

cluster: $(INSTALLED) $(NETWORK) ## two indexers and three machines that follow, which die and sleep
	CLUSTER_NODES=3 $(BIN)/pytest tests/features/operating/test_cluster.py tests/indexer/replication

engines: $(INSTALLED) .venv-engines/installed ## the open data in Daft on Ray and in Spark: 2 GB to install, needs Java
	ENGINES=1 $(BIN)/pytest tests/features/engines

test-duckdb-next: .venv-duckdb-next/installed ## the stores' tests on the next major version of DuckDB
	.venv-duckdb-next/bin/pytest tests/schemas tests/indexer tests/readapi -m "not network"

lock: $(INSTALLED) ## choose the newest versions that pyproject.toml allows
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --all-extras \
		--generate-hashes --upgrade --quiet --output-file requirements.lock --custom-compile-command "make lock"
	echo "hatchling>=1.27" | $(BIN)/uv pip compile pyproject.toml - --extra server --universal --python-version 3.11 \
		--constraint requirements.lock --no-annotate --generate-hashes --quiet \
		--output-file deploy/requirements.lock --custom-compile-command "make lock"

clean: ## remove what was installed and cached; the catalogue in data/ stays
	rm -rf .venv .venv-* tests/network/node/node_modules tests/consumers/node_modules *.egg-info .*_cache .hypothesis .schemathesis

$(INSTALLED): requirements.lock pyproject.toml deploy/pyproject.toml deploy/wheel_sources.py
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --no-compile --require-hashes --no-deps -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e ./deploy
	@touch $@

.venv-duckdb-next/installed: requirements.lock pyproject.toml deploy/pyproject.toml deploy/wheel_sources.py
	$(PYTHON) -m venv .venv-duckdb-next
	.venv-duckdb-next/bin/pip install --quiet --require-hashes --no-deps -r requirements.lock
	.venv-duckdb-next/bin/pip install --quiet --no-deps --no-build-isolation -e .
	.venv-duckdb-next/bin/pip install --quiet --no-deps --no-build-isolation -e ./deploy
	.venv-duckdb-next/bin/pip install --quiet "duckdb>=2,<3"
	@touch $@

.venv-engines/installed: tests/features/engines/requirements.txt
	$(PYTHON) -m venv .venv-engines
	.venv-engines/bin/pip install --quiet -r $<
	@touch $@

# npm writes this file last, so it is there only when everything is.
$(NETWORK) $(CONSUMERS): %/node_modules/.package-lock.json: %/package-lock.json
	npm --prefix $* ci --ignore-scripts --no-audit --no-fund
	@touch $@
