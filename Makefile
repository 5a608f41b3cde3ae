# make demo   what a newcomer runs first
# make test   every check; CI runs exactly this
# make audit  the long runs: fresh entropy, more samples
# make coverage  every branch of the trusted base; make mutants: changes to its core that tests must notice
# make portable  the tests as other machines would run them
# make docs   the site, into site/; warnings are errors
# make bench  docs/reference/benchmarks.md: side by side with peers, in environments of their own under .bench/
# make bench-quick  the same in three minutes

PYTHON ?= python3
BIN := .venv/bin
RUN := $(BIN)/python
TORCH := torch>=2.6,<2.14

# Tests start hundreds of processes: none of them should compile the whole package again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test ordinary compiled check audit coverage mutants portable bench bench-quick unpinned lock docs figures screenshots clean

demo: .venv/run
	@$(BIN)/discreet demo

# Ledgers and databases sync to disk at every charge. Tests put them into memory where there is room:
# a commit of SQLite takes a tenth of the CPU there, and nobody waits for the disk.
ROOM := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }')
ifneq ($(ROOM),)
IN_MEMORY = folder=$$(mktemp -d -p $(ROOM)) && trap 'rm -rf "$$folder"' EXIT INT TERM && TMPDIR="$$folder"
endif

# What takes time is measured last, when little else runs; only files that name the mark are imported
# for it. Most of it waits for a clock: six workers on two cores.
test:
	$(MAKE) -j 2 check ordinary
	$(IN_MEMORY) $(RUN) -m pytest -n 6 --dist worksteal -q -m "timed and not audit" \
	    $$(grep -rlw timed tests --include='test_*.py')

# Four workers on two cores: some wait for servers and browsers. mypy, which is longer than what has
# to be ready first, ends beside them.
ordinary: compiled .venv/headless .venv/jdbc .venv-dbt
	$(IN_MEMORY) $(RUN) -m pytest -n 4 --dist worksteal -q -m "not audit and not timed"

# All that tests import is compiled once: workers that begin together would each compile all of it.
compiled: .venv/test
	@$(RUN) -m pytest --collect-only -q >.venv/collected || { tail -n 60 .venv/collected; false; }

check: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Hypothesis looks for cases it has not tried before; a failure prints the line that repeats it.
audit: .venv/test
	HYPOTHESIS_PROFILE=fresh $(RUN) -m pytest -n 2 -q -m audit
	HYPOTHESIS_PROFILE=fresh $(RUN) -m pytest -n 2 -q tests/property tests/crash/test_model.py

# The modules, and what is asked of their tests: trusted-base.toml.
coverage: .venv/test
	$(RUN) tests/trusted_base.py

mutants: .venv/test
	$(RUN) tests/mutation.py

# All vector units, none beyond numpy's baseline, and one core in another time zone and locale.
portable: check .venv/headless .venv/jdbc .venv-dbt
	$(RUN) tests/support/portable.py

# Today's newest releases instead of the lock.
unpinned:
	rm -rf .venv-unpinned
	$(PYTHON) -m venv .venv-unpinned
	.venv-unpinned/bin/python -m pip install -q --upgrade pip
	.venv-unpinned/bin/python -m pip install -q -e . --group test 'torch>=2.6'
	.venv-unpinned/bin/python -m pytest -n 2 -q

bench: .venv/test
	$(BIN)/python -m benchmarks report

bench-quick: .venv/test
	$(BIN)/python -m benchmarks report --quick

docs: .venv/test
	$(BIN)/zensical build --clean --strict

figures: .venv/test
	$(RUN) docs/figures/private_count.py
	$(RUN) docs/figures/attacks.py

screenshots: .venv/test .venv/browser
	$(RUN) docs/screenshots.py

# Writes the lock files from pyproject.toml (newest versions that agree, with hashes, no hosts).
lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install -q uv
	.venv-lock/bin/uv pip compile -q --universal --generate-hashes --no-header --no-annotate \
	    --upgrade pyproject.toml --group build -o requirements/run.lock
	.venv-lock/bin/uv pip compile -q --universal --generate-hashes --no-header --no-annotate \
	    --upgrade pyproject.toml --group test -o requirements/test.lock
	rm -rf .venv-lock

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/run: .venv/bin/python requirements/run.lock pyproject.toml
	$(RUN) -m pip install -q --require-hashes -r requirements/run.lock
	$(RUN) -m pip install -q --no-deps --no-build-isolation -e .
	@touch $@

# The lock of the tests holds all of the other; modules are compiled when first imported, as most never are.
# torch comes from a range, without hashes: whichever build a machine or a registry has, for CPU or GPU.
.venv/test: .venv/bin/python requirements/test.lock pyproject.toml
	$(RUN) -m pip install -q --no-compile --require-hashes -r requirements/test.lock
	$(RUN) -m pip install -q --no-compile '$(TORCH)'
	$(RUN) -m pip install -q --no-deps --no-build-isolation -e .
	@touch .venv/run $@

# Chromium comes from the system. Where we may install it we do; where we may not, the tests of the
# page say that they were skipped (and fail if CI is set).
.venv/browser: .venv/bin/python
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	    && apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	    || echo "Chromium is not installed: the tests of the page need it (apt-get install chromium)"
	@touch $@

# Tests use Chromium's headless build in the version of the system's, unpacked and not installed: it takes
# half of the CPU. Where it does not start they use the whole browser.
.venv/headless: .venv/bin/python | .venv/browser
	@mkdir -p $@ && cd $@ && { version=$$(dpkg-query -W -f '$${Version}' chromium) \
	    && apt-get download -qq chromium-headless-shell=$$version \
	    && dpkg -x chromium-headless-shell_*.deb . && rm chromium-headless-shell_*.deb \
	    && ln -s -t usr/lib/chromium $$(dpkg -L chromium-common | grep '^/usr/lib/chromium/[^/]*$$') \
	    && usr/lib/chromium/chromium-headless-shell --no-sandbox --dump-dom about:blank; \
	    } >/dev/null 2>&1 || rm -rf usr

# The JDBC driver comes from the system's packages too; it is unpacked and not installed. It waits for
# the browser: apt does one thing at a time.
.venv/jdbc: .venv/bin/python | .venv/headless
	@mkdir -p $@ && cd $@ && { apt-get download -qq libpostgresql-jdbc-java >/dev/null 2>&1 \
	    || { [ "$$(id -u)" = 0 ] && apt-get update -qq \
	    && apt-get download -qq libpostgresql-jdbc-java >/dev/null 2>&1; }; } \
	    && dpkg -x libpostgresql-jdbc-java_*.deb . \
	    || echo "The JDBC driver is missing: its tests need Debian's libpostgresql-jdbc-java"

# dbt, in an environment of its own: it pins what others should choose.
.venv-dbt: .venv/bin/python
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install -q --no-compile 'dbt-postgres>=1.9,<1.11' 'dbt-core>=1.9,<1.11'

clean:
	rm -rf .venv .venv-* .bench .cache site .mypy_cache .ruff_cache .pytest_cache .hypothesis
