# Every command that people and CI run. `make` alone lists them.

CARGO ?= cargo
# One crate for `make test CRATE=store`; everything when empty.
CRATE ?=
# Where `make dev` keeps its data; a throw-away folder when empty. What `make eval-judge` reads.
DATA ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo dev test unit doctest sdk clients soak claude-newest bench eval-judge screenshots lint fmt fmt-check tidy doc deps snap setup timings

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## build Ratchet, record and score two weeks of agent traffic, and serve them
	$(CARGO) run --profile demo --locked -p ratchet-cli --bin ratchet -- demo

dev: ## run a server from source on a throw-away folder, or: make dev DATA=DIR
	$(CARGO) run -p ratchet-cli --bin ratchet -- serve --data "$(or $(DATA),$$(mktemp -d))"

# Quickest failure first. The repository's own rules (`make tidy`) are among the unit tests; running
# them apart would build half of the dependencies a second time, with other features.
ifeq ($(CRATE),)
test: ## run everything, or one crate: make test CRATE=store
	@scripts/test fmt-check lint doc deps unit doctest sdk
else
test:
	scripts/test-crate $(CRATE)
endif

# With fixed seeds (also in .cargo/config.toml), so that a run fails because of a change, not by chance.
unit: setup ## run all cargo tests: unit, property, behaviour, end-to-end, pages in Chromium
	RATCHET_SEED=$${RATCHET_SEED:-9157} $(CARGO) test --workspace --all-targets --locked --no-fail-fast

doctest: ## run the examples in the documentation
	$(CARGO) test --workspace --doc --locked --no-fail-fast

sdk: setup ## run the SDK checks against a real server
	scripts/sdk-checks

# Not part of `make test`: these libraries are large, and what they record changes with each of them.
clients: ## run LangChain, LiteLLM, the OpenAI drop-in, openai-agents and the Langfuse CLI against a real server
	scripts/setup clients
	scripts/client-checks

# Only the tests that have a long form; `make test` runs a short form of each. CONTRIBUTING.md says how
# long it takes.
soak: setup ## run the long tests at full length: kills, bombs, slow clients, full disks, clocks, fuzzing
	scripts/soak

claude-newest: setup ## try a newer Claude Code than the pinned one, if npm has one
	scripts/claude-newest

screenshots: ## picture every page, light, dark, small and wide, into screenshots/
	scripts/setup chromium
	$(CARGO) test --locked -p ratchet-cli --test cli -- --ignored --exact pages::screenshots::of_every_page

bench: ## measure speed and size (long; not part of `make test`)
	scripts/setup chromium
	$(CARGO) build --release --locked -p ratchet-cli -p ratchet-bench
	"$${CARGO_TARGET_DIR:-target}/release/ratchet-bench" $(BENCH_ARGS)

eval-judge: ## measure the offline judge: make eval-judge DATA=FILE of labelled trajectories
	$(CARGO) run --release --locked -p ratchet-core --example eval-judge -- $(EVAL_ARGS) $(DATA)

lint: ## run clippy; a warning is an error
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

fmt: ## format the code
	$(CARGO) fmt --all

fmt-check: ## check the format
	$(CARGO) fmt --all -- --check

tidy: ## check the repository's own rules
	$(CARGO) test -p ratchet-testkit --locked tidy

doc: ## build the documentation; a warning is an error
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --locked

deps: ## check bans, licences and sources of dependencies (installs cargo-deny)
	scripts/install-tool cargo-deny 0.20.2
	.setup/bin/cargo-deny --log-level error check bans licenses sources

snap: ## review changed snapshots (installs cargo-insta)
	scripts/install-tool cargo-insta 1.49.0
	.setup/bin/cargo-insta test --workspace --review --unreferenced=reject

setup: ## install what tests need into .setup (and missing Debian packages)
	scripts/setup

timings: ## show what takes long to compile
	$(CARGO) build --workspace --timings
