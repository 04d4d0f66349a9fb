# Everything from a checkout, on a machine with python3 (3.11 or newer), python3-venv, git and make.
#
#   make demo           a tour: creates, updates and deletes a stack, in half a minute
#   make serve          starts heatlite on 127.0.0.1:8004, with a simulated cloud; SERVE= adds options, such as
#                       SERVE='--cloud environment' for the cloud that OS_* or clouds.yaml name
#   make test           a few minutes of tests that need no service, on up to four cores (JOBS=0: one after the other);
#                       TESTS= for others, which also use the services that run
#   make test-all       all tests, with MariaDB, PostgreSQL, RabbitMQ and Keystone started first (apt, as root)
#   make test-api URL=http://127.0.0.1:8004   the API's readable tests against a service without stacks, whose options
#                       enable_stack_abandon and enable_stack_adopt are set
#   make test-cloud CLOUD=name   the lives of resource types in a cloud of your clouds.yaml, as its administrator
#   make lint           ruff, mypy and import-linter
#   make docs           the documentation as HTML in docs/_build; a warning or a broken link is an error
#   make sample         writes the sample configuration anew
#   make console        builds the web console from console/ (Node 20, npm); make console-check compares it with what is
#                       committed
#   make catalogue      checks the catalogue of resource types, and packs it for the service
#   make dist           the source distribution and the wheel, in dist/
#   make deb            the Debian package, in build/deb/ (apt install debhelper python3-venv python3-sphinx)
#   make deb-check      lintian, and the package installed on a bare Debian, used, removed and purged (apt install lintian
#                       mmdebstrap, as root)
#   make bom            the bill of materials in build/, as CycloneDX; make audit asks OSV for known vulnerabilities
#   make clean          removes what these made

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 4 --dist loadfile --no-loadscope-reorder
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONWARNINGS ?= ignore::DeprecationWarning
VERSION = $(shell sed -n 's/^version = //p' setup.cfg)
TESTS ?=
JOBS ?= auto
SERVE ?=
CLOUD ?= simulated

.PHONY: demo serve test test-all test-api test-cloud lint docs sample console console-check catalogue constraints dist deb deb-check bom audit clean

demo: $(VENV)/.runtime
	@$(BIN)/python tools/demo.py

serve: $(VENV)/.runtime
	@$(BIN)/heatlite-all --cloud simulated $(SERVE)

test: $(VENV)/.tests
ifndef TESTS
	@$(PYTEST) -rfE -m 'not thorough'
	@echo 'Left out: tests marked "thorough" - engines killed at every point, every type under every fault, real processes'
	@echo 'and services, hostile input. All of them: make test-all. Some: make test TESTS=tests/simulation'
else
	@if [ -z "$${HEATLITE_TEST_ALONE:-}" ]; then set -a; \
	    if tools/services status > /dev/null 2>&1; then \
	      . "$${HEATLITE_SERVICES_DIR:-$${TMPDIR:-/tmp}/heatlite-services}/env"; fi; \
	    if tools/keystone status > /dev/null 2>&1; then \
	      . "$${HEATLITE_KEYSTONE_DIR:-$${TMPDIR:-/tmp}/heatlite-keystone}/env"; fi; \
	    set +a; fi; \
	  $(PYTEST) $(TESTS)
endif

test-all: $(VENV)/.tests
	@tools/services up > /dev/null
	@tools/keystone up > /dev/null
	@$(MAKE) --no-print-directory test TESTS='tests contrib'

test-api: $(VENV)/.tests
	@HEATLITE_TEST_URL='$(URL)' $(BIN)/python -m pytest -q tests/api/test_gabbi.py $(TESTS)

test-cloud: $(VENV)/.tests
	@HEATLITE_TEST_CLOUD='$(CLOUD)' $(BIN)/python -m pytest tests/cloud $(TESTS)

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: $(VENV)/.docs
	@$(BIN)/sphinx-build -q -W --keep-going -d docs/_build/doctrees docs docs/_build/html
	@echo docs/_build/html/index.html

sample: $(VENV)/.runtime
	$(BIN)/oslo-config-generator --config-file etc/heatlite/config-generator.conf

console: console/node_modules/.package-lock.json console/openapi.json
	@cd console && npm run --silent types > /dev/null && npm run --silent check && npm run --silent lint \
	  && npm run --silent build -- --logLevel warn

# Builds beside the committed files: both must be the same bytes.
console-check: console/node_modules/.package-lock.json console/openapi.json
	@cd console && npm run --silent types > /dev/null && npm run --silent check && npm run --silent lint \
	  && npm run --silent build -- --logLevel warn --outDir ../build/console --emptyOutDir
	@diff -r build/console heatlite/api/console/static && echo 'heatlite/api/console/static is what console/ builds'

console/node_modules/.package-lock.json: console/package-lock.json
	@cd console && npm ci --no-audit --no-fund --silent && touch node_modules/.package-lock.json

console/openapi.json: $(VENV)/.runtime heatlite/api/routes.py heatlite/api/openapi.py heatlite/api/query_keys.py heatlite/api/shapes.yaml
	@$(BIN)/python -W ignore -c 'import json; from heatlite.api import openapi, routes; \
	  print(json.dumps(openapi.document(routes.TABLE)))' > $@

catalogue: $(VENV)/.runtime
	@$(BIN)/python -m heatlite.engine.resources.catalogue.packing

# The wheel is made of the source distribution, so that nothing can be in one and not in the other.
dist: $(VENV)/.dist
	@rm -rf dist && log=$$(mktemp); $(BIN)/python -m build --outdir dist . > "$$log" 2>&1 || { tail -n 30 "$$log"; exit 1; }
	@ls dist/heatlite-*

# Debian's tools want the packaging in a folder of the upstream source, which is the source distribution.
deb: dist
	@rm -rf build/deb && mkdir -p build/deb && tar -xf dist/heatlite-$(VERSION).tar.gz -C build/deb
	@cp dist/heatlite-$(VERSION).tar.gz build/deb/heatlite_$(VERSION).orig.tar.gz
	@cp -r contrib/packaging/debian build/deb/heatlite-$(VERSION)/
	@cd build/deb/heatlite-$(VERSION) && dpkg-buildpackage -us -uc > ../build.log 2>&1 || { tail -n 30 ../build.log; exit 1; }
	@ls build/deb/*.deb

deb-check:
	@lintian --allow-root --info --display-info --pedantic --fail-on error,warning,info,pedantic build/deb/heatlite_$(VERSION)-*.changes
	@$(PYTHON) tools/bare_debian.py build/deb/heatlite_$(VERSION)-*.deb --root build/bare-debian

bom: $(VENV)/.bom
	@$(BIN)/python tools/bom.py build/heatlite-$(VERSION).cdx.json

audit: $(VENV)/.bom
	@$(BIN)/python tools/audit.py

constraints:
	rm -rf .constraints-venv
	$(PYTHON) -m venv .constraints-venv
	PIP_CONSTRAINT= .constraints-venv/bin/pip install -q --upgrade -e '.[bom,dist,docs,lint,plugins-openstack,postgres,test]'
	{ sed -n '/^#/p' constraints.txt; .constraints-venv/bin/pip freeze --exclude-editable; \
	  sed -n '/^setuptools==/p' constraints.txt; } > .constraints-new
	mv .constraints-new constraints.txt
	rm -rf .constraints-venv

clean:
	rm -rf $(VENV) .constraints-venv heatlite.egg-info build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# What is installed is written down: nothing happens here until one of these files changes.
$(VENV)/.runtime: setup.cfg pyproject.toml constraints.txt
	@$(call install,.)

$(VENV)/.tests: setup.cfg pyproject.toml constraints.txt
	@$(call install,.[postgres$(comma)test$(comma)lint])
	@touch $(VENV)/.runtime

$(VENV)/.docs: setup.cfg pyproject.toml constraints.txt
	@$(call install,.[docs])

$(VENV)/.dist: setup.cfg pyproject.toml constraints.txt
	@$(call install,.[dist])

$(VENV)/.bom: setup.cfg pyproject.toml constraints.txt
	@$(call install,.[client$(comma)key-manager$(comma)language-server$(comma)memcached$(comma)policies$(comma)postgres$(comma)traces$(comma)wsgi$(comma)bom])
	@touch $(VENV)/.runtime

comma := ,
# An old pip takes twice as long to resolve the packages; it does the work if no new one can be had.
define install
[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV); \
$(BIN)/pip install -q 'pip>=24.2' > /dev/null 2>&1 || true; \
echo 'Installing the packages heatlite stands on (once, about a minute):'; \
log=$$(mktemp); \
if $(BIN)/pip install --progress-bar off -e '$(1)' 2>&1 | tee "$$log" | { \
    while read -r word name _; do \
      if [ "$$word" = Collecting ]; then printf '%s ' "$${name%%[^A-Za-z0-9._-]*}"; fi; \
    done; echo; }; \
then touch $@; rm -f "$$log"; \
else tail -n 25 "$$log"; rm -f "$$log"; exit 1; fi
endef
