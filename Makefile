# Every target has a line in `make help`, under its group.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=

.DEFAULT_GOAL := help
.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^##@ /{printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## /{printf "  make %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# pip's own progress at a terminal; elsewhere a line a step, and what goes wrong.
PIP = test -t 1 && quiet= || quiet=--quiet; $(BIN)/python -m pip install $$quiet --disable-pip-version-check

# Debian's packages; apt waits for nobody, and `.ci/run` has two targets under way.
APT = flock /tmp/cenote-apt.lock sh -c 'apt-get update && apt-get install --yes --no-install-recommends "$$@"' apt

NATIVE := kernels/build_native.py $(wildcard kernels/*/*.[ch] kernels/*/*/*.[ch])

$(VENV)/.serve: pyproject.toml $(NATIVE)
	@test -x $(BIN)/python || { echo "Making $(VENV) by $$($(PYTHON) --version) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing Cenote and the packages that it needs into $(VENV): some minutes the first time, torch is large ..."
	@$(PIP) --editable '.[text]'
	@touch $@

$(VENV)/.test: $(VENV)/.serve
	@echo "Installing the extra test into $(VENV) ..."
	@$(PIP) --editable '.[test]'
	@touch $@

$(VENV)/.check: $(VENV)/.test
	@echo "Installing the extra check into $(VENV) ..."
	@$(PIP) --editable '.[check]'
	@touch $@

$(VENV)/.release: $(VENV)/.test
	@echo "Installing the extra release into $(VENV) ..."
	@$(PIP) --editable '.[release]'
	@touch $@

##@ Serve

.PHONY: serve
serve: $(VENV)/.serve ## serve all-MiniLM-L6-v2 and both built-in models on 127.0.0.1:8000 (more flags: make serve ARGS="--port 9000")
	$(BIN)/cenote serve $(ARGS)

##@ Develop

.PHONY: test
test: $(VENV)/.test ## install with the test extra and run the tests, two files at a time (seven minutes on two fast cores, thirteen on slow ones)
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile -m "not slow" $(ARGS)

.PHONY: test-slow
test-slow: $(VENV)/.test ## the slow tests: engines that crash and hang, servers that drain or share caches, families and files over HTTP, the pages' commands, the bench's parts
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile -m slow --durations 15 $(ARGS)

.PHONY: check
check: $(VENV)/.check ## lint, types (mypy, pyright), import contracts, spelling, drift of generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/cenote openapi --check openapi.json
	$(BIN)/cenote openapi --profile sdk --check openapi-sdk.json

.PHONY: lint-openapi
lint-openapi: ## both documents against the strict rules of tests/openapi/lint/redocly.yaml (needs Node.js)
	npm ci --prefix tests/openapi/lint --no-audit --no-fund
	cd tests/openapi/lint && REDOCLY_TELEMETRY=off npx --no-install redocly lint

.PHONY: clients
clients: $(VENV)/.test ## run other people's clients, each in its own environment (one: make clients ARGS=cohere)
	$(BIN)/python -m tests.clients.run $(ARGS)

.PHONY: sdks
sdks: $(VENV)/.test ## typed clients made from openapi.json, compiled and run (needs npm)
	$(BIN)/python -m pytest tests/openapi/sdks $(ARGS)

.PHONY: playground
$(VENV)/.playground: $(VENV)/.test tests/playground/package-lock.json
	@echo "Installing the extra playground into $(VENV), and what npm and Debian have of it ..."
	@$(PIP) --editable '.[playground]'
	npm ci --prefix tests/playground --no-audit --no-fund
	command -v chromium || $(APT) chromium fonts-dejavu-core
	@touch $@
playground: $(VENV)/.playground ## drive the playground in Debian's Chromium (new screenshots: ARGS=--write-images)
	$(BIN)/python -m pytest tests/playground $(ARGS)

.PHONY: ingest-check
INGEST := .ingest
$(INGEST)/.installed: tests/ingest/full/requirements.txt $(VENV)/.test
	test -x $(INGEST)/bin/python || $(PYTHON) -m venv --without-pip $(INGEST)
	$(BIN)/python -c 'import site; print("import site; site.addsitedir(%r)" % site.getsitepackages()[0])' > $(INGEST)/cenote.pth
	cp $(INGEST)/cenote.pth "$$($(INGEST)/bin/python -c 'import site; print(site.getsitepackages()[0])')"  # what .venv has, too
	$(BIN)/python -m pip --python $(INGEST)/bin/python install --quiet --disable-pip-version-check -r $<
	@touch $@
ingest-check: $(INGEST)/.installed ## cenote ingest at full size: 2,000 images, kills, every store for real, and down for a minute (ten minutes)
	$(INGEST)/bin/python -m pytest tests/ingest/full -s $(ARGS)

.PHONY: stream-check
stream-check: $(VENV)/.test ## 100,000 lines through one stream: memory, rate, and engines that die (two minutes)
	$(BIN)/python -m tests.scoreboard --only long_stream $(ARGS)

.PHONY: deploy-check
deploy-check: $(VENV)/.test ## lint and try deploy/: Dockerfile, compose, manifests, rules, dashboard, a confined server
	sh tests/deploy/install.sh .deploy $(BIN)/python
	$(BIN)/python -m pytest tests/deploy $(ARGS)

.PHONY: arm-check
arm-check: $(VENV)/.test ## the kernels for ARM, by a cross compiler and qemu, against the references of the others (some minutes)
	command -v qemu-aarch64 && command -v aarch64-linux-gnu-gcc || $(APT) qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	CENOTE_EMULATED=1 $(BIN)/python -m pytest tests/kernels/test_cpu_*.py $(ARGS)

.PHONY: image-check
image-check: $(VENV)/.test ## build deploy/Dockerfile by buildah and run the image (root on Debian 12; some minutes)
	command -v buildah && command -v debootstrap || $(APT) buildah debootstrap
	$(BIN)/python -m pytest tests/deploy/image_build $(ARGS)

.PHONY: proxy-check
proxy-check: $(VENV)/.test ## two servers restarted behind nginx and HAProxy with the lines of docs/proxies.md (two minutes)
	command -v nginx && command -v haproxy || $(APT) nginx-light haproxy
	$(BIN)/python -m pytest tests/deploy/proxies -s $(ARGS)

.PHONY: ray
RAY := .ray
$(RAY)/.installed: tests/deploy/ray/requirements.txt $(VENV)/.test
	test -x $(RAY)/bin/python || $(PYTHON) -m venv $(RAY)
	$(BIN)/python -c 'import site; print(site.getsitepackages()[0])' > $$($(RAY)/bin/python -c 'import site; print(site.getsitepackages()[0])')/base.pth
	$(RAY)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@
ray: $(RAY)/.installed ## two embedders on Ray Serve and a Ray Data job, on this machine alone (five minutes)
	PYTHONPATH=$(CURDIR):$(CURDIR)/kernels:$(CURDIR)/deploy/ray $(RAY)/bin/python -m pytest tests/deploy/ray $(ARGS)

.PHONY: dist
dist: $(VENV)/.release ## build dist/: sdist, the wheel for this system and one of Python alone; nothing is uploaded
	$(BIN)/python deploy/release.py dist

.PHONY: release-check
release-check: $(VENV)/.release ## build them, look at them as an index does, install each and serve from it (two minutes)
	$(BIN)/python -m pytest tests/release $(ARGS)

.PHONY: first-day
first-day: ## a new clone, a new environment, and a question to 200 Markdown files, by the README's lines (minutes)
	$(PYTHON) tests/release/first_day.py $(ARGS)

.PHONY: clean
clean: ## remove the virtual environments, those of the clients and of the bench
	rm -rf $(VENV) .clients .sdks .scoreboard .bench .deploy .ingest .ray .gpu

##@ Generate

.PHONY: openapi
openapi: $(VENV)/.serve ## write openapi.json and openapi-sdk.json from the schemas
	$(BIN)/cenote openapi > openapi.json
	$(BIN)/cenote openapi --profile sdk > openapi-sdk.json

.PHONY: docs
docs: $(VENV)/.serve ## write the pages made from the code: docs/settings.md, metrics.md, models.md, and reference.md and map.md, which are not committed
	for page in settings metrics; do $(BIN)/cenote reference --page $$page > docs/$$page.md; done
	$(BIN)/python -m tests.models_page
	$(BIN)/cenote reference > docs/reference.md
	$(BIN)/python -m tests.code_map

.PHONY: builtin
builtin: $(VENV)/.serve ## train the built-in model again (two cores, under an hour)
	$(BIN)/python -m cenote_builtin.training.train
	$(BIN)/python -m cenote_builtin.calibrate

.PHONY: calibrate
calibrate: $(VENV)/.serve ## take the built-in model's int8 ranges again (seconds)
	$(BIN)/python -m cenote_builtin.calibrate

.PHONY: deploy-lock
deploy-lock: ## write the image's lock files, deploy/requirements/*.txt, from pyproject.toml
	test -x .deploy/lock/bin/python || $(PYTHON) -m venv .deploy/lock
	.deploy/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	.deploy/lock/bin/python deploy/requirements/lock.py

.PHONY: deploy-rules
deploy-rules: $(VENV)/.test ## write the Prometheus operator's rules from deploy/prometheus/rules.yml
	$(BIN)/python -m tests.deploy.operator_rules

##@ Measure

.PHONY: bench
SENTENCE := .bench/sentence-transformers
$(SENTENCE)/.installed: tests/bench/sentence_transformers.txt $(VENV)/.test
	test -x $(SENTENCE)/bin/python || $(PYTHON) -m venv $(SENTENCE)
	$(SENTENCE)/bin/python -m pip install --quiet --disable-pip-version-check -r $< \
	  "transformers==$$($(BIN)/python -c 'import transformers; print(transformers.__version__)')"
	@touch $@
bench: $(VENV)/.test $(SENTENCE)/.installed ## measure the service against its limit and its peers (a look: ARGS=--quick)
	$(BIN)/python -m tests.bench --write docs/speed.md $(ARGS)

.PHONY: scorecard
scorecard: $(VENV)/.serve ## measure the built-in model on new scenes
	$(BIN)/python -m cenote_builtin.scoring.score

.PHONY: fuzz
fuzz: $(VENV)/.test ## 2,000 requests that schemathesis makes from openapi.json
	$(BIN)/python -m tests.openapi.fuzz.run $(ARGS)

.PHONY: scoreboard
scoreboard: $(VENV)/.test ## attack the service line by line and write docs/scoreboard.md (25 minutes; one line: ARGS="--only ssrf")
	$(BIN)/python -m tests.scoreboard --write docs/scoreboard.md $(ARGS)

.PHONY: sabotage
sabotage: $(VENV)/.test ## break the product in every listed way; the scoreboard must notice
	$(BIN)/python -m tests.scoreboard --sabotage $(ARGS)

.PHONY: check-gpu
GPU    := .gpu
WHEELS ?=
$(GPU)/site/.installed: $(WHEELS)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-index --no-deps --upgrade --target $(GPU)/site $(WHEELS)/*.whl
	@touch $@
check-gpu: $(if $(WHEELS),$(GPU)/site/.installed,$(VENV)/.test) ## check and time kernels, model and server on a GPU (eight minutes); says why not without one
	$(if $(WHEELS),PYTHONPATH=$(CURDIR):$(CURDIR)/kernels:$(CURDIR)/deploy/builtin:$(CURDIR)/$(GPU)/site $(PYTHON),$(BIN)/python) -m tests.gpu --write docs/gpu.md $(ARGS)

.PHONY: gpu-wheels
gpu-wheels: $(VENV)/.serve ## what check-gpu needs where there is torch and no network: there make check-gpu PYTHON=python3 WHEELS=.gpu/wheels
	$(BIN)/python -m tests.gpu.wheels $(GPU)/wheels

##@ Nightly and large

.PHONY: scoreboard-nightly
scoreboard-nightly: $(VENV)/.test ## the scoreboard at its larger sizes (hours)
	$(BIN)/python -m tests.scoreboard --nightly --write docs/scoreboard.md $(ARGS)

.PHONY: sdks-nightly
sdks-nightly: $(VENV)/.test ## clients in Python, Go, Java, Ruby, PHP, Rust and typescript-fetch (needs Java 17, cargo, Debian)
	$(APT) ruby ruby-typhoeus php-cli php-guzzlehttp-guzzle librust-serde-dev librust-serde-derive-dev librust-serde-json-dev
	$(BIN)/python -m pytest tests/openapi/sdks/nightly $(ARGS)
