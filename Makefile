# Every target says what it is for; `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=

.DEFAULT_GOAL := help
.PHONY: help serve test clients check openapi reference lint-openapi builtin calibrate bench scorecard clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.serve: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.serve
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/.check: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[check]'
	@touch $@

serve: $(VENV)/.serve ## serve the built-in model on 127.0.0.1:8000 (more flags: make serve ARGS="--port 9000")
	$(BIN)/cenote serve $(ARGS)

test: $(VENV)/.test ## install with the test extra and run the tests, two files at a time, under ten minutes
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile -m "not slow" $(ARGS)

.PHONY: test-slow
test-slow: $(VENV)/.test ## the other tests: engines that die, hang and lie, caches that servers share
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile -m slow --durations 15 $(ARGS)

clients: $(VENV)/.test ## run the clients that people use, each in its own environment (one: make clients ARGS=cohere)
	$(BIN)/python -m tests.clients.run $(ARGS)

check: $(VENV)/.check ## lint, types (mypy, pyright), import contract, spelling, openapi drift
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/cenote openapi --check openapi.json
	$(BIN)/cenote openapi --profile sdk --check openapi-sdk.json
	$(BIN)/cenote reference --check docs/reference.md

openapi: $(VENV)/.serve ## write openapi.json and openapi-sdk.json from the schemas
	$(BIN)/cenote openapi > openapi.json
	$(BIN)/cenote openapi --profile sdk > openapi-sdk.json

reference: $(VENV)/.serve ## write docs/reference.md from the schemas
	$(BIN)/cenote reference > docs/reference.md

.PHONY: map
map: ## write docs/map.md from the modules' docstrings
	$(PYTHON) -m tests.code_map

lint-openapi: ## both documents against the strict rules of tests/lint/redocly.yaml (needs Node.js)
	npm ci --prefix tests/lint --no-audit --no-fund
	cd tests/lint && REDOCLY_TELEMETRY=off npx --no-install redocly lint

.PHONY: sdks sdks-nightly
sdks: $(VENV)/.test ## typed clients made from openapi.json, compiled and run (needs npm)
	$(BIN)/python -m pytest tests/sdks $(ARGS)

sdks-nightly: $(VENV)/.test ## the same in Python, Go, Java, Ruby, PHP, Rust and typescript-fetch (needs Java 17, cargo, Debian)
	apt-get install --yes --no-install-recommends ruby ruby-typhoeus php-cli php-guzzlehttp-guzzle librust-serde-dev librust-serde-derive-dev librust-serde-json-dev
	$(BIN)/python -m pytest tests/sdks/nightly $(ARGS)

builtin: $(VENV)/.serve ## train the built-in model again (two cores, under an hour)
	$(BIN)/python -m service.model.builtin.train
	$(BIN)/python -m service.model.builtin.calibrate

calibrate: $(VENV)/.serve ## take the built-in model's int8 ranges again (seconds)
	$(BIN)/python -m service.model.builtin.calibrate

SENTENCE := .bench/sentence-transformers
$(SENTENCE)/.installed: tests/bench/sentence_transformers.txt $(VENV)/.test
	test -x $(SENTENCE)/bin/python || $(PYTHON) -m venv $(SENTENCE)
	$(SENTENCE)/bin/python -m pip install --quiet --disable-pip-version-check -r $< \
	  "transformers==$$($(BIN)/python -c 'import transformers; print(transformers.__version__)')"
	@touch $@

bench: $(VENV)/.test $(SENTENCE)/.installed ## measure the service against its limit and its peers (a look: ARGS=--quick)
	$(BIN)/python -m tests.bench --write docs/speed.md $(ARGS)

scorecard: $(VENV)/.serve ## measure the built-in model on scenes it never saw
	$(BIN)/python -m service.model.builtin.score

INGEST := .ingest
$(INGEST)/.installed: tests/ingest/full/requirements.txt $(VENV)/.test
	test -x $(INGEST)/bin/python || $(PYTHON) -m venv --without-pip $(INGEST)
	$(BIN)/python -c 'import site; print("import site; site.addsitedir(%r)" % site.getsitepackages()[0])' > $(INGEST)/cenote.pth
	cp $(INGEST)/cenote.pth "$$($(INGEST)/bin/python -c 'import site; print(site.getsitepackages()[0])')"  # what .venv has, too
	$(BIN)/python -m pip --python $(INGEST)/bin/python install --quiet --disable-pip-version-check -r $<
	@touch $@

.PHONY: ingest-check
ingest-check: $(INGEST)/.installed ## cenote ingest at full size: 2,000 pictures, kills, every store for real (under 6 minutes)
	$(INGEST)/bin/python -m pytest tests/ingest/full -s $(ARGS)

.PHONY: fuzz
fuzz: $(VENV)/.test ## 2,000 requests that schemathesis makes from openapi.json, and what it finds
	$(BIN)/python -m tests.fuzz.run $(ARGS)

.PHONY: ray
RAY := .ray
$(RAY)/.installed: tests/ray/requirements.txt $(VENV)/.test
	test -x $(RAY)/bin/python || $(PYTHON) -m venv $(RAY)
	$(BIN)/python -c 'import site; print(site.getsitepackages()[0])' > $$($(RAY)/bin/python -c 'import site; print(site.getsitepackages()[0])')/base.pth
	$(RAY)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

ray: $(RAY)/.installed ## two embedders on Ray Serve and a Ray Data job, on this machine alone (five minutes)
	PYTHONPATH=$(CURDIR):$(CURDIR)/kernels:$(CURDIR)/deploy/ray $(RAY)/bin/python -m pytest tests/ray $(ARGS)

.PHONY: check-gpu
check-gpu: $(VENV)/.test ## build, check and time the CUDA kernels and the model on a GPU, under eight minutes; says why without one
	$(BIN)/python -m tests.gpu --write docs/gpu.md $(ARGS)

.PHONY: playground
$(VENV)/.playground: $(VENV)/.test tests/playground/package-lock.json
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[playground]'
	npm ci --prefix tests/playground --no-audit --no-fund
	command -v chromium || { apt-get update && apt-get install --yes --no-install-recommends chromium fonts-dejavu-core; }
	@touch $@

playground: $(VENV)/.playground ## drive the page at / in Debian's Chromium (its pictures again: ARGS=--write-images)
	$(BIN)/python -m pytest tests/playground $(ARGS)

.PHONY: scoreboard scoreboard-nightly sabotage
scoreboard: $(VENV)/.test ## try what the reliability specification lists, under 15 minutes on two cores (one: ARGS="--only ssrf")
	$(BIN)/python -m tests.scoreboard --write docs/scoreboard.md $(ARGS)

scoreboard-nightly: $(VENV)/.test ## the same at its larger sizes: hours
	$(BIN)/python -m tests.scoreboard --nightly --write docs/scoreboard.md $(ARGS)

sabotage: $(VENV)/.test ## break a copy of the product in every listed way, and see that the scoreboard notices
	$(BIN)/python -m tests.scoreboard --sabotage $(ARGS)

.PHONY: deploy-check image-check deploy-lock deploy-rules
deploy-check: $(VENV)/.test ## lint and try deploy/: Dockerfile, compose, manifests, rules, dashboard, a confined server
	sh tests/deploy/install.sh .deploy $(BIN)/python
	$(BIN)/python -m pytest tests/deploy $(ARGS)

image-check: $(VENV)/.test ## build deploy/Dockerfile by buildah and run the image (root on Debian 12; some minutes)
	command -v buildah debootstrap || apt-get install --yes --no-install-recommends buildah debootstrap
	$(BIN)/python -m pytest tests/deploy/image_build $(ARGS)

deploy-lock: ## write the image's lock files, deploy/requirements/*.txt, from pyproject.toml
	test -x .deploy/lock/bin/python || $(PYTHON) -m venv .deploy/lock
	.deploy/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	.deploy/lock/bin/python deploy/requirements/lock.py

deploy-rules: $(VENV)/.test ## write the Prometheus operator's rules from deploy/prometheus/rules.yml
	$(BIN)/python -m tests.deploy.operator_rules

.PHONY: proxy-check
proxy-check: $(VENV)/.test ## two servers restarted behind nginx and HAProxy with the lines of docs/proxies.md (two minutes)
	command -v nginx && command -v haproxy || { apt-get update && apt-get install --yes --no-install-recommends nginx-light haproxy; }
	$(BIN)/python -m pytest tests/proxies -s $(ARGS)

.PHONY: stream-check
stream-check: $(VENV)/.test ## 100,000 lines through one stream: memory, rate, and engines that die (two minutes)
	$(BIN)/python -m tests.scoreboard --only long_stream $(ARGS)

clean: ## remove the virtual environments, those of the clients and of the bench
	rm -rf $(VENV) .clients .sdks .scoreboard .bench .deploy .ingest .ray
