# Run `make` for the list.
SHELL := /bin/bash
CACHE ?= $(if $(ZONEKEEPER_CACHE),$(ZONEKEEPER_CACHE),$(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/zonekeeper)

.DEFAULT_GOAL := help
.PHONY: help up test unit laws world compat e2e fuzz check gen image dist bench setup tools

help: ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: ## build, then serve and watch examples/quickstart
	@scripts/setup build
	@cargo build --profile quick --no-default-features --package zonekeeper
	@exec target/quick/zonekeeper up examples/quickstart

test: ## everything: checks, all tests, the simulator's conformance, the crash sweep
	@scripts/setup test
	@scripts/test

unit: ## the tests that need nothing but Rust
	@cargo test --package zonekeeper-kernel --package zonekeeper-api --package zonekeeper-model --package zonekeeper --package xtask

compat: ## ExternalDNS and Zonekeeper side by side: records, taking over, accidents
	@scripts/setup test
	@cargo test --package zonekeeper-tests --test compat

e2e: ## the image and the chart on a real node; needs root. ZONEKEEPER_IMAGE=FILE takes an archive of `make image`
	@scripts/setup e2e
	@cargo test --package zonekeeper-tests --test e2e

laws: ## the laws on new random cases, PROPTEST_CASES (100000) each
	@PROPTEST_CASES=$${PROPTEST_CASES:-100000} cargo test --package zonekeeper-kernel --test laws

world: ## new histories of the simulation, SEEDS (10000) of them
	@WORLD_SEED=$${WORLD_SEED:-$$(date +%s)000000} WORLD_SEEDS=$(or $(SEEDS),10000) cargo test --package zonekeeper-tests --test world no_history -- --nocapture

fuzz: ## every parser of outside bytes, FUZZ_SECONDS (60) each
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-60} cargo test --package zonekeeper-tests --test fuzz -- --nocapture

check: ## formatting, lints, dependency policy, generated files
	@scripts/setup check
	@scripts/check

gen: ## write CRDs, RBAC, the chart's parts and their reference from the code, and deploy from the chart
	@scripts/setup gen
	@cargo run --quiet --package xtask -- gen

image: ## an OCI archive for amd64 into dist, without a container engine
	@scripts/setup dist
	@scripts/dist dist amd64

dist: ## all that is released: images, binaries, SBOMs, chart, install.yaml, SHA256SUMS
	@scripts/setup dist
	@scripts/dist dist

bench: ## the figures in BENCHMARKS.md
	@scripts/setup build
	@cargo build --quiet --release --package zonekeeper --package zonekeeper-tests --bins
	@target/release/bench

tools: ## what checks and tests run, from crates.io and Go modules, into a cache outside the tree
	@scripts/setup tools
