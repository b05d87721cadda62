# Everything one may want to do with this repository. `make help` lists it.
# Rust (rustup) and Node are assumed; what else is missing is named, then installed from Debian's archive.

SHELL := /bin/bash
SEEDS ?= 500
FROM ?= 1
export CARGO_TERM_COLOR ?= auto

.DEFAULT_GOAL := help
.PHONY: help run test test-core test-ui check test-peers test-desktop sim proof bench debounce-study pictures package clean-peers

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

run: ## the window; without a display: the agent in practice mode and a curl line that talks to it
	@scripts/run.sh

test: test-core test-ui ## every test that needs no foreign server: core, shell, window

test-core:
	@scripts/need.sh build window
	@scripts/test-core.sh

test-ui:
	@scripts/test-ui.sh

check: ## formatting, lints as errors, the repository's own rules, licences, generated bindings
	@scripts/need.sh build window
	@scripts/check.sh

test-peers: ## installs third-party servers under tests/peers/.cache and drives the real program against them
	@scripts/need.sh build peers
	@scripts/test-peers.sh

test-desktop: ## the real window under a virtual display
	@scripts/need.sh build window desktop
	@scripts/test-desktop.sh

sim: ## the pipeline on a virtual clock with seeded faults: make sim SEEDS=500 FROM=1
	@scripts/need.sh build
	@UNAVEZ_SIM_SEEDS=$(SEEDS) UNAVEZ_SIM_FROM=$(FROM) scripts/proof.sh sim

proof: ## the long form of every proof: 10,000 seeds, 2,000 kills, every sync boundary (about an hour)
	@scripts/need.sh build
	@scripts/proof.sh long

bench: ## one table: measure, ours, floor or peer, ratio, goal
	@scripts/need.sh build bench
	@scripts/bench.sh

debounce-study: ## merge windows on 10,147 real chat messages; writes docs/pictures/debounce.svg
	@scripts/need.sh build
	@cargo run --quiet --example debounce_study

pictures: ## screenshots of the real window for the README
	@scripts/need.sh build window desktop
	@scripts/pictures.sh

package: ## a .deb with the window, and a bill of materials
	@scripts/need.sh build window
	@scripts/package.sh

clean-peers: ## removes the installed third-party servers
	@rm -rf tests/peers/.cache
