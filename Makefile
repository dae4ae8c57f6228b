# The front desk: each target installs what it needs (scripts/setup) and hands over to one script.
# Variables: ONCE=1 (run, run-cluster), AFRESH=1 (test: also what is known to pass), SECONDS=60 and
# TARGET=name (fuzz), SECONDS=3600 (soak), IMAGE_SOURCE=URL (image), DESTDIR and PREFIX (install).

PREFIX ?= /usr/local
SETUP = @scripts/setup

.DEFAULT_GOAL := help
.PHONY: help run run-cluster test check fuzz soak bench cover format man image deb install clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

run: ## try it: manifests to DNS answers from a real Knot; ONCE=1 checks the answers and ends
	$(SETUP) run
	@ONCE='$(ONCE)' scripts/run

run-cluster: ## the same on a Kubernetes API server of its own, for kubectl; ONCE=1 checks and ends
	$(SETUP) run-cluster
	@ONCE='$(ONCE)' scripts/run-cluster

test: ## prove it: unit tests, also under sanitizers, scenarios, torture, whole-program tests, API servers
	$(SETUP) test
	@AFRESH='$(AFRESH)' scripts/test

check: ## format, stairs of the rooms, GCC's and Clang's warnings, clang-tidy, cppcheck
	$(SETUP) check
	@scripts/check

fuzz: ## fuzz every decoder of outside bytes; SECONDS=60 each, TARGET=name for one
	$(SETUP) fuzz
	@scripts/fuzz $(or $(SECONDS),60) $(TARGET)

soak: ## hostile traffic with too few descriptors, days in which clocks jump; SECONDS=3600 each
	$(SETUP) test
	@scripts/soak $(or $(SECONDS),3600)

bench: ## measure speed and memory, beside their peers
	$(SETUP) bench
	@scripts/bench

cover: ## which lines and branches the unit tests and scenarios reach
	$(SETUP) cover
	@scripts/cover

format: ## lay out all C files with clang-format
	$(SETUP) check
	@find src tests -name '*.[ch]' -exec clang-format -i {} +

man: ## write manual and reference pages (docs/), chart, kustomize base and dashboard (deploy/) anew from the program
	$(SETUP) man
	@scripts/man

image: ## container image as an OCI image layout in build/image, without a daemon; IMAGE_SOURCE=URL
	$(SETUP) image
	@IMAGE_SOURCE='$(IMAGE_SOURCE)' scripts/image

deb: ## Debian package with manual pages, completions and systemd units, in build/
	$(SETUP) deb
	@scripts/deb

install: ## install program, manual pages and completions into PREFIX (/usr/local), below DESTDIR
	$(SETUP) build
	@scripts/build release
	@flock build/.release.lock meson configure build/release --prefix '$(abspath $(PREFIX))'
	@flock build/.release.lock meson install -C build/release --strip $(if $(DESTDIR),--destdir '$(abspath $(DESTDIR))')

clean: ## remove everything that was built
	rm -rf build .run .run-cluster
