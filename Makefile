# The common tasks by name; the work itself is CMake's. `make help` lists them.
PREFIX ?= /usr/local
MODEL ?= models/varve-tiny.gguf
PROMPT ?= Tell me a story about a fox who lost something.
FUZZ_SECONDS ?= 30
MAKEFLAGS += --no-print-directory
JOBS := $(shell nproc 2>/dev/null || echo 2)

# Ninja where it is there; a build folder keeps what it began with.
ifneq ($(shell command -v ninja),)
export CMAKE_GENERATOR ?= Ninja
endif
build = cmake --preset $(1) $(2) > /dev/null && cmake --build --preset $(1) --parallel $(JOBS) $(3)

.DEFAULT_GOAL := build
.PHONY: build run test check fuzz format install deb conformance clean help

build: ## build the command and the library (build/release)
	@tools/dependencies.sh build
	@$(call build,release,,--target varve)

run: build ## write a story with the model in models/; PROMPT="…" asks for something else
	@build/release/varve run -m $(MODEL) $(RUN_OPTIONS) "$(PROMPT)"

test: ## build and run all tests
	@tools/dependencies.sh build test
	@$(call build,release)
	@ctest --preset release --parallel $(JOBS)

check: build ## every variant of every operation against its reference
	@build/release/varve check

fuzz: ## run every fuzzer for FUZZ_SECONDS (30) seconds
	@tools/dependencies.sh build fuzz
	@$(call build,fuzz)
	@tools/fuzz.sh build/fuzz/fuzz $(FUZZ_SECONDS)

format: ## bring all sources into their form
	@tools/dependencies.sh format
	@git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' | xargs clang-format -i

install: build ## install under PREFIX (/usr/local); DESTDIR is respected
	@cmake --build --preset release --target pages
	@cmake --install build/release --prefix $(PREFIX)

deb: build ## a Debian package in build/, for the Debian that it is made on
	@tools/dependencies.sh package
	@cmake --build --preset release --target pages
	@cpack --config build/release/CPackConfig.cmake -B build > build/release/cpack.log || { cat build/release/cpack.log; exit 1; }
	@rm -rf build/_CPack_Packages
	@ls build/*.deb

conformance: ## compare with the large fixtures: make conformance FIXTURES=DIR
	@test -n "$(FIXTURES)" || { echo "conformance needs the fixtures' folder: make conformance FIXTURES=DIR" >&2; exit 2; }
	@tools/dependencies.sh build test conformance
	@$(call build,release,-DVARVE_CONFORMANCE=ON)
	@tools/conformance.sh build/release "$(FIXTURES)"

clean: ## remove the build folder
	@rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
