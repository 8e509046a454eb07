# Two commands do everything: `make demo` and `make test`. Each installs what is missing when it can.
CARGO ?= cargo

.PHONY: demo build wheel test bench fuzz hunt doc

## What the tool is about, on an embedded graph; ends with a report, target/demo/report.html.
demo:
	@scripts/prepare.sh
	@echo "demo: building gcnproof (some two minutes the first time)"
	@$(CARGO) build --release --bin gcnproof
	@target/release/gcnproof demo --out target/demo

## The whole command, laboratory included, as target/release/gcnproof.
build:
	@scripts/prepare.sh solvers
	$(CARGO) build --release --features laboratory

## The Python package as a wheel in target/wheels.
wheel:
	@scripts/prepare.sh
	scripts/python-wheel.sh

## What CI runs: format, lints, documentation, all tests, some random bytes for the checker, the Python package.
test:
	@scripts/prepare.sh solvers browser
	@echo "test 1 of 6: format"
	$(CARGO) fmt --all --check
	@echo "test 2 of 6: lints"
	$(CARGO) clippy --release --workspace --all-targets --all-features -- -D warnings
	@echo "test 3 of 6: documentation"
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps --all-features
	@echo "test 4 of 6: all tests"
	$(CARGO) test --release --workspace --all-features
	@echo "test 5 of 6: random bytes for the checker"
	scripts/fuzz.sh 20
	@echo "test 6 of 6: the Python package"
	scripts/python-test.sh

## Ten minutes of random bytes for the proof checker.
fuzz:
	scripts/fuzz.sh 600

## Small problems against brute force, until Ctrl-C: false verdicts, margins and proofs (hunt/README.md; HUNT="--seed 7 --seconds 60").
hunt:
	@scripts/prepare.sh
	@$(CARGO) build --release -p gcnproof -p gcnproof-hunt
	@target/release/gcnproof-hunt $(HUNT)

## The certifier and the trainer against the textbook forms, as ratios (GCNPROOF_DATA=folder for more graphs).
bench:
	@scripts/prepare.sh
	$(CARGO) bench --bench textbook --bench training

doc:
	$(CARGO) doc --release --workspace --no-deps --open
