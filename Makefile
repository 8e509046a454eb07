# Two commands do everything: `make demo` and `make test`. Each installs what is missing when it can.
CARGO ?= cargo

.PHONY: demo build test bench fuzz hunt doc

## What the tool is about, on an embedded graph; ends with a report, target/demo/report.html.
demo:
	@scripts/prepare.sh
	@$(CARGO) run --release --quiet --no-default-features --bin gcnproof -- demo --out target/demo

## The whole command, laboratory included, as target/release/gcnproof.
build:
	@scripts/prepare.sh solvers
	$(CARGO) build --release

## What CI runs: format, lints, documentation, all tests.
test:
	@scripts/prepare.sh solvers browser
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps --quiet
	$(CARGO) test --release --workspace
	scripts/fuzz.sh 20

## Ten minutes of random bytes for the proof checker.
fuzz:
	scripts/fuzz.sh 600

## Small problems against brute force, until Ctrl-C: false verdicts, margins and proofs (hunt/README.md; HUNT="--seed 7 --seconds 60").
hunt:
	@scripts/prepare.sh
	@$(CARGO) build --release --quiet --no-default-features -p gcnproof -p gcnproof-hunt
	@target/release/gcnproof-hunt $(HUNT)

## The certifier and the trainer against the textbook forms, as ratios (GCNPROOF_DATA=folder for more graphs).
bench:
	@scripts/prepare.sh
	$(CARGO) bench --no-default-features --bench textbook --bench training

doc:
	$(CARGO) doc --release --workspace --no-deps --open
