# SPDX-License-Identifier: Apache-2.0
# The front door; Meson and Ninja do the work. BUILD names the build folder.
BUILD ?= build
PREFIX ?= /usr/local
TIME ?= 60
MINUTES ?= 30
BENCH ?= --files 300000

sanitize = -Db_lundef=false -Dtests=enabled -Db_sanitize

.PHONY: help build run test attacks knockout soak test-asan test-tsan coverage clang macos arm64 test-kernels lint bench fuzz install uninstall deb dist static check-packages clean

help:
	@echo 'make build      $(BUILD)/agentbox, libagentbox.so, libagentbox.a, header, agentbox.pc'
	@echo 'make run        build, then a tour of one screen'
	@echo 'make test       build and run all tests (TEST_ONLY=pattern selects)'
	@echo 'make attacks    the attack cases as a table (ATTACKS="--with bwrap A28" selects)'
	@echo 'make knockout   which attacks come through when one layer is left out, for each'
	@echo 'make soak       mixed load for MINUTES=$(MINUTES), then: is anything left?'
	@echo 'make test-asan  the same under AddressSanitizer and UBSan, in build-asan'
	@echo 'make test-tsan  the unit tests under ThreadSanitizer, in build-tsan'
	@echo 'make coverage   what the tests execute of the files that read foreign bytes, in build-cov'
	@echo 'make clang      build with clang and run the unit tests, in build-clang'
	@echo 'make macos      compile and link what macOS runs, for both CPUs, in build-macos'
	@echo 'make arm64      cross-compile for 64-bit ARM, unit tests under qemu, in build-arm64'
	@echo 'make test-kernels  boot older and newer kernels in qemu (KERNELS="6.1 newest" selects)'
	@echo 'make lint       format, layers, tables, clang-tidy, cppcheck, shellcheck'
	@echo 'make bench      speed and memory against the peers (BENCH="-n 30 startup" selects)'
	@echo 'make fuzz       each fuzzer for TIME=$(TIME) seconds, in build-fuzz (FUZZ="json yaml" selects)'
	@echo 'make install    to DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)'
	@echo 'make uninstall  takes that away again (same DESTDIR and PREFIX)'
	@echo 'make deb        Debian packages: program, library, -dev, in dist/'
	@echo 'make static     the program, its pages and completions as one archive, in dist/'
	@echo 'make dist       the source of the last commit as an archive, in dist/'
	@echo 'make clean      remove the build folders'

build:
	@tools/install-deps build
	@tools/configure $(BUILD)
	@ninja -C $(BUILD)

run: build
	@tools/run-demo $(BUILD)/agentbox

test:
	@tools/install-deps build test
	@tools/configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD) all tests
	@BUILD=$(BUILD) tools/test-run

attacks:
	@tools/install-deps build test
	@tools/configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD) all tests
	@BUILD=$(BUILD) tests/attacks/run $(ATTACKS)

knockout:
	@tools/install-deps build test
	@tools/configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD) all tests
	@BUILD=$(BUILD) tests/attacks/knockout $(KNOCKOUT)

soak:
	@tools/install-deps build test
	@tools/configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD) all tests
	@BUILD=$(BUILD) tests/soak/run --seconds $$(($(MINUTES) * 60))

test-asan:
	@tools/install-deps build test
	@tools/configure build-asan $(sanitize)=address,undefined
	@ninja -C build-asan all tests
	@BUILD=build-asan tools/test-run

test-tsan:
	@tools/install-deps build test
	@tools/configure build-tsan $(sanitize)=thread
	@ninja -C build-tsan all tests
	@BUILD=build-tsan tools/test-run unit/

coverage:
	@tools/install-deps build test
	@CC=gcc tools/configure build-cov -Dtests=enabled -Dbuildtype=debug -Db_coverage=true
	@ninja -C build-cov agentbox unit-tests
	@find build-cov -name '*.gcda' -delete
	@BUILD=build-cov tools/test-run unit/ fuzz/ classify/
	@tools/coverage build-cov $(COVERAGE)

clang:
	@tools/install-deps build test lint
	@CC=clang tools/configure build-clang -Dtests=enabled
	@ninja -C build-clang all tests
	@BUILD=build-clang tools/test-run unit/ fuzz/

macos:
	@tools/install-deps macos
	@tools/cross-macos

arm64:
	@tools/install-deps build test arm64
	@tools/cross-arm64

test-kernels:
	@tools/install-deps build test arm64 kernels
	@tools/configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD) agentbox tests/payload
	@tools/cross-arm64 --build-only
	@BUILD=$(BUILD) tests/kernels/run $(KERNELS)

lint:
	@tools/install-deps build lint
	@tools/lint

bench:
	@tools/install-deps peers
	@BUILD=$(BUILD) bench/run --json $(BENCH) >bench.json.new
	@mv bench.json.new bench.json
	@bench/page --svg bench.svg bench.json

fuzz:
	@tools/install-deps build test lint
	@CC=clang tools/configure build-fuzz -Dfuzz=true $(sanitize)=address,undefined
	@ninja -C build-fuzz fuzzers
	@tools/fuzz-run build-fuzz $(TIME) $(FUZZ)

install:
	@tools/install-deps build
	@tools/configure $(BUILD) -Dprefix=$(PREFIX)
	@ninja -C $(BUILD)
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild --strip

uninstall:
	@tools/configure $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR='$(DESTDIR)' tools/uninstall $(BUILD)

deb dist static:
	@tools/install-deps build
	@tools/package $@

check-packages:
	@tools/install-deps build package
	@tools/check-packages

clean:
	rm -rf $(BUILD) build-asan build-tsan build-cov build-clang build-fuzz build-macos build-arm64
