# Two commands do everything: `make demo` and `make test`. Each installs what is missing when it can.
CARGO ?= cargo
# What is built on its own is built with one selection of packages: features of what they share are then the same, and nothing is compiled twice.
SHARED = -p gcnproof-cli -p gcnproof-hunt -p gcnproof-python

.PHONY: demo build wheel test bench fuzz hunt verified doc site

## What the tool is about, on an embedded graph; ends with a report, target/demo/report.html.
demo:
	@scripts/prepare.sh
	@echo "demo: building gcnproof (the first time six to ten minutes of processor time, shared by all cores; later nothing)"
	@$(CARGO) build --release $(SHARED) --bin gcnproof
	@target/release/gcnproof demo --out target/demo --force

## The whole command, laboratory included, as target/release/gcnproof.
build:
	@scripts/prepare.sh solvers
	$(CARGO) build --release $(SHARED) --bin gcnproof --features gcnproof-cli/laboratory

## The Python package as a wheel in target/wheels.
wheel:
	@scripts/prepare.sh
	scripts/python-wheel.sh

# Tests draw the same problems each time; `cargo test` alone, or another number, draws others.
export PROPTEST_RNG_SEED ?= 20261118

## What CI runs: format, lints, documentation, proofs in Coq, all tests, the Python package.
test:
	@scripts/prepare.sh solvers browser
	@echo "test 1 of 6: format"
	$(CARGO) fmt --all --check
	@echo "test 2 of 6: lints"
	$(CARGO) clippy --release --workspace --all-targets --all-features -- -D warnings
	@echo "test 3 of 6: documentation"
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps --all-features
	@echo "test 4 of 6: proofs in Coq, and the checker that they are about"
	@scripts/verified.sh || { [ $$? -eq 3 ] && echo "SKIPPED: the verified checker, which cannot be built here; so are the tests that need it"; }
	@echo "test 5 of 6: all tests"
	$(CARGO) test --release --workspace --all-features
	@echo "test 6 of 6: the Python package"
	scripts/python-test.sh

## Ten minutes of bytes that libFuzzer chooses for the proof checker.
fuzz:
	scripts/fuzz.sh 600

## Small problems against brute force, until Ctrl-C: false verdicts, margins and proofs (hunt/README.md; HUNT="--seed 7 --seconds 60").
hunt:
	@scripts/prepare.sh
	@$(CARGO) build --release $(SHARED) --bin gcnproof --bin gcnproof-hunt
	@target/release/gcnproof-hunt $(HUNT)

## The checker that is proved correct (docs/trust.md), built from Debian's coq, ocaml and zarith, on all proofs of the embedded graph.
verified:
	@scripts/prepare.sh
	@scripts/verified.sh
	@$(CARGO) build --release $(SHARED) -p gcnproof-check --bin gcnproof --bin gcnproof-check
	@scripts/verified-fixtures.sh

## The certifier and the trainer against the textbook forms, as ratios (GCNPROOF_DATA=folder for more graphs).
bench:
	@scripts/prepare.sh
	$(CARGO) bench --bench textbook
	$(CARGO) bench -p gcnproof-train --bench training

doc:
	$(CARGO) doc --release --workspace --no-deps --open

## The documentation site, with the mathematics typeset: target/site/html/index.html.
site:
	@scripts/site.sh
