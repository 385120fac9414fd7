# pg_backfill: two PostgreSQL extensions (PGXS), and the worker that goes with them.

# Not VERSION: that is PostgreSQL's, in PGXS.
RELEASE         = 0.1.0
PG_CONFIG      ?= pg_config
CLANGXX        ?= clang++
export PG_CONFIG

EXTENSION       = extension/pg_backfill extension/bt_leads
MODULE_big      = pg_backfill
LEADS_LIBRARY   = bt_leads.so
WORKER          = pg_backfill
# Where install-service puts the worker's unit, its user, and a link on the PATH of everybody and of sudo.
UNIT_DIR       ?= /usr/lib/systemd/system
SYSUSERS_DIR   ?= /usr/lib/sysusers.d
LINK_DIR       ?= /usr/local/bin
INSTALL_SCRIPTS = sql/pg_backfill--$(RELEASE).sql sql/bt_leads--$(RELEASE).sql
DATA            = $(INSTALL_SCRIPTS)

# core is compiled for the server and for the worker, each with its own include path; bureau sees neither.
# Files right in extension/pg are the boundary and go into both libraries.
CORE_SRCS       = $(sort $(wildcard extension/core/*.cpp))
BUREAU_SRCS     = $(sort $(wildcard extension/bureau/*.cpp extension/bureau/*/*.cpp))
BOUNDARY_SRCS   = $(sort $(wildcard extension/pg/*.cpp))
ENGINE_SRCS     = $(sort $(wildcard extension/pg/engine/*.cpp))
LEADS_SRCS      = $(sort $(wildcard extension/pg/leads/*.cpp))
WORKER_SRCS     = $(sort $(shell find worker -name '*.cpp'))
UNIT_SRCS       = $(sort $(wildcard test/unit/*_test.cpp))
OBJS            = $(patsubst %.cpp,%.o,$(CORE_SRCS) $(BOUNDARY_SRCS) $(ENGINE_SRCS))
LEADS_OBJS      = $(patsubst %.cpp,%.o,$(CORE_SRCS) $(BUREAU_SRCS) $(BOUNDARY_SRCS) $(LEADS_SRCS))
WORKER_OBJS     = $(patsubst %.cpp,%.w.o,$(CORE_SRCS) $(WORKER_SRCS))
FUZZ_OBJS       = $(patsubst %.cpp,build/fuzz/%.o,$(BUREAU_SRCS))
# The worker's rules need no server and no network, so they are tested like core's.
RULE_SRCS       = $(sort $(wildcard worker/channel/rule/*.cpp))
UNIT_OBJS       = $(patsubst %.cpp,build/unit/%.o,$(CORE_SRCS) $(BUREAU_SRCS) $(RULE_SRCS))
UNIT_TESTS      = $(patsubst test/unit/%.cpp,build/unit/%,$(UNIT_SRCS))
DEPENDENCIES    = $(patsubst %.o,%.d,$(sort $(OBJS) $(LEADS_OBJS) $(WORKER_OBJS) $(UNIT_OBJS) $(FUZZ_OBJS))) \
                  $(patsubst %.cpp,build/unit/%.d,$(UNIT_SRCS))

# Inputs in test/sql and test/specs, expected output of both in expected/. PostgreSQL up to 15 looks for the latter in
# the output folder, so that has a link to it.
REGRESS         = $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
ISOLATION       = $(sort $(patsubst test/specs/%.spec,%,$(wildcard test/specs/*.spec)))
LOAD_EXTENSIONS = --load-extension=pg_backfill --load-extension=bt_leads
REGRESS_OPTS    = --inputdir=test --outputdir=build/regress $(LOAD_EXTENSIONS)
ISOLATION_OPTS  = --inputdir=test --outputdir=build/isolation $(LOAD_EXTENSIONS)

STD             = -std=c++20
WARN            = -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror
SERVER_INCLUDE  = -Iextension -isystem $(includedir_server)
WORKER_PACKAGES = spdlog tomlplusplus libcurl libcrypto
WORKER_DEFINES  = $(shell pkg-config --cflags $(WORKER_PACKAGES))
WORKER_INCLUDE  = -Iextension -I. -isystem $(libpq_srcdir) $(WORKER_DEFINES) -DPG_BACKFILL_VERSION='"$(RELEASE)"'
PG_CPPFLAGS     = $(SERVER_INCLUDE) -MMD -MP
PG_CXXFLAGS     = $(STD) $(WARN) -Wno-register -O2 -fvisibility=hidden -fvisibility-inlines-hidden
EXPORTS         = extension/exports.map
SHLIB_LINK      = -lstdc++ -Wl,--version-script=$(EXPORTS)
LEADS_LINK      = -lpugixml -lsimdjson
WORKER_CFLAGS   = $(STD) $(WARN) -O2 -g -MMD -MP $(WORKER_INCLUDE)
WORKER_LIBS     = $(libpq) $(shell pkg-config --libs $(WORKER_PACKAGES)) -lcpp-httplib
UNIT_CFLAGS     = $(STD) $(WARN) -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -Iextension -I.
FUZZ_CFLAGS     = $(UNIT_CFLAGS) -fsanitize=fuzzer-no-link
FUZZ_SECONDS   ?= 600
EXTRA_CLEAN     = $(INSTALL_SCRIPTS) $(LEADS_LIBRARY) $(LEADS_OBJS) $(WORKER) $(WORKER_OBJS) $(DEPENDENCIES) build

# No LLVM bitcode: PGXS would compile it with clang and without $(PG_CXXFLAGS).
override with_llvm = no
# `make test`, `make demo` and `make packages` must work before there is a pg_config.
PGXS           := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))

all: build
.DELETE_ON_ERROR:

ifeq ($(PGXS),)
build install install-service uninstall uninstall-service installed unit fuzz fuzz-short bench-reader regress isolation tap tap-sanitized lint bench:
	@echo "PostgreSQL's server headers are not there ($(PG_CONFIG) --pgxs): make packages" >&2; exit 1
clean:
	rm -rf $(EXTRA_CLEAN)
else
include $(PGXS)
-include $(DEPENDENCIES)

build: all-lib $(LEADS_LIBRARY) $(WORKER) $(INSTALL_SCRIPTS) ## both extensions and the worker (the default)

# An install script is the files of its folder, in their order. The folder itself notices a file that went away.
define install_script
sql/$(1)--$(RELEASE).sql: $(wildcard sql/$(1)) $(sort $(wildcard sql/$(1)/*.sql))
	(printf '%s\n' '\echo Use "CREATE EXTENSION $(1)" to load this file. \quit'; cat $$(filter %.sql,$$^) </dev/null) >$$@
endef
$(eval $(call install_script,pg_backfill))
$(eval $(call install_script,bt_leads))

# What the library says of itself; the doctor compares it with the extension.
extension/pg/engine/plan_functions.o: override CPPFLAGS += -DPG_BACKFILL_VERSION='"$(RELEASE)"'
extension/pg/engine/plan_functions.o: Makefile

$(LEADS_LIBRARY): $(LEADS_OBJS) $(EXPORTS)
	$(CXX) $(CXXFLAGS) -shared -o $@ $(LEADS_OBJS) $(LDFLAGS) -Wl,--version-script=$(EXPORTS) $(LEADS_LINK)

# The version number comes from this file.
$(WORKER_OBJS): %.w.o: %.cpp Makefile
	$(CXX) $(WORKER_CFLAGS) -c -o $@ $<

$(WORKER): $(WORKER_OBJS)
	$(CXX) -o $@ $^ $(WORKER_LIBS)

# The worker with a sanitizer, for its tests only.
SANITIZERS = thread address
define sanitized_worker
build/$(1)/%.o: %.cpp Makefile
	@$$(MKDIR_P) $$(@D)
	$$(CXX) $$(WORKER_CFLAGS) -O1 -g0 -fno-omit-frame-pointer -fsanitize=$(1) -c -o $$@ $$<
build/$(1)/$(WORKER): $$(patsubst %.cpp,build/$(1)/%.o,$$(CORE_SRCS) $$(WORKER_SRCS))
	$$(CXX) -fsanitize=$(1) -o $$@ $$^ $$(WORKER_LIBS)
-include $$(patsubst %.cpp,build/$(1)/%.d,$$(CORE_SRCS) $$(WORKER_SRCS))
endef
$(foreach sanitizer,$(SANITIZERS),$(eval $(call sanitized_worker,$(sanitizer))))

install: install-more ## everything, where $(PG_CONFIG) says
install-more: $(LEADS_LIBRARY) $(WORKER)
	$(MKDIR_P) '$(DESTDIR)$(bindir)' '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) $(LEADS_LIBRARY) '$(DESTDIR)$(pkglibdir)/$(LEADS_LIBRARY)'
	$(INSTALL_PROGRAM) $(WORKER) '$(DESTDIR)$(bindir)/$(WORKER)'

uninstall: uninstall-more ## the reverse of install
uninstall-more:
	rm -f '$(DESTDIR)$(pkglibdir)/$(LEADS_LIBRARY)' '$(DESTDIR)$(bindir)/$(WORKER)'

# What an administrator has written is neither replaced nor removed. Needs no systemd: that is told of it later.
install-service: ## the worker's systemd unit, user and configuration, beside what install does (DESTDIR=... for a package)
	$(MKDIR_P) '$(DESTDIR)$(UNIT_DIR)' '$(DESTDIR)$(SYSUSERS_DIR)' '$(DESTDIR)/etc' '$(DESTDIR)$(LINK_DIR)'
	sed 's|@bindir@|$(bindir)|' worker/pg_backfill.service.in >'$(DESTDIR)$(UNIT_DIR)/pg_backfill.service'
	chmod 644 '$(DESTDIR)$(UNIT_DIR)/pg_backfill.service'
	$(INSTALL_DATA) worker/pg_backfill.sysusers '$(DESTDIR)$(SYSUSERS_DIR)/pg_backfill.conf'
	[ -e '$(DESTDIR)/etc/pg_backfill.toml' ] || $(INSTALL_DATA) worker/pg_backfill.toml '$(DESTDIR)/etc/pg_backfill.toml'
	[ '$(LINK_DIR)' = '$(bindir)' ] || ln -sf '$(bindir)/$(WORKER)' '$(DESTDIR)$(LINK_DIR)/$(WORKER)'

uninstall-service: ## the reverse of install-service; configuration and user stay
	rm -f '$(DESTDIR)$(UNIT_DIR)/pg_backfill.service' '$(DESTDIR)$(SYSUSERS_DIR)/pg_backfill.conf'
	[ ! -L '$(DESTDIR)$(LINK_DIR)/$(WORKER)' ] || rm '$(DESTDIR)$(LINK_DIR)/$(WORKER)'

# What the tests need: installed as now built, with sudo where the place asks for it.
installed: build
	@MAKE='$(MAKE)' test/env/install

unit: $(UNIT_TESTS) ## unit tests of core and bureau, with ASan and UBSan; no server
	@test/env/run-unit-tests $(UNIT_TESTS)

build/unit/%.o: %.cpp Makefile
	@$(MKDIR_P) $(@D)
	$(CXX) $(UNIT_CFLAGS) -MMD -MP -c -o $@ $<

$(UNIT_TESTS): build/unit/%: build/unit/test/unit/%.o $(UNIT_OBJS)
	$(CXX) $(UNIT_CFLAGS) -o $@ $^ $(LEADS_LINK) -lcrypto

build/fuzz/%.o: %.cpp Makefile
	@$(MKDIR_P) $(@D)
	$(CLANGXX) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

build/fuzz/read_report_fuzzer: build/fuzz/test/fuzz/read_report_fuzzer.o $(FUZZ_OBJS)
	$(CLANGXX) $(UNIT_CFLAGS) -fsanitize=fuzzer -o $@ $^ $(LEADS_LINK)

fuzz: build/fuzz/read_report_fuzzer ## bodies at random for the report reader, with ASan and UBSan (FUZZ_SECONDS=600)
	@test/fuzz/run $< $(FUZZ_SECONDS)

fuzz-short: build/fuzz/read_report_fuzzer ## the same for twenty seconds
	@test/fuzz/run $< 20

build/bench/%.o: %.cpp Makefile
	@$(MKDIR_P) $(@D)
	$(CXX) $(STD) $(WARN) -O2 -Iextension -MMD -MP -c -o $@ $<

build/bench/reader: $(patsubst %.cpp,build/bench/%.o,test/bench/reader_bench.cpp $(BUREAU_SRCS))
	$(CXX) -o $@ $^ $(LEADS_LINK)

bench-reader: build/bench/reader ## bodies and megabytes a second of the report reader, by size
	@build/bench/reader

pgxs_test = $(abspath $(dir $(PGXS))/../test)
# The server is not let into everybody's folders, root's for one: the reports it reads are laid beside its socket.
define run_regress
	@rm -rf build/$@ && $(MKDIR_P) build/$@ && ln -s ../../expected build/$@/expected
	@test/env/with-cluster sh -c 'cp -r test/data/reports "$$PGHOST" && chmod -R a+rX "$$PGHOST/reports" && exec "$$@"' - $(pgxs_test)/$(1) --bindir='$(bindir)' || { cat build/$@/regression.diffs; exit 1; }
endef

regress: installed ## pg_regress tests, on a throw-away server
	$(call run_regress,regress/pg_regress $(REGRESS_OPTS) $(REGRESS))

isolation: installed ## isolation tests, on a throw-away server
	$(call run_regress,isolation/pg_isolation_regress $(ISOLATION_OPTS) $(ISOLATION))

# Makes faults on purpose; loaded by tests and never installed.
FAULTPOINT = build/fault/faultpoint.so
$(FAULTPOINT): test/fault/faultpoint.c
	@$(MKDIR_P) $(@D)
	$(CC) -O1 -g -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Werror -fPIC -shared -isystem $(includedir_server) -o $@ $<

tap: installed $(FAULTPOINT) ## TAP tests, each with servers of its own (PROVE_TESTS=test/t/001_... for some)
	@test/env/run-tap $(PROVE_TESTS)

# Both find what they look for only where the program goes; each test waits for events and not for time, so being slow is
# all right. Not a part of `test`: building the worker twice more takes too long for that.
WORKER_TESTS ?= $(sort $(wildcard test/t/04*.pl test/t/05*.pl test/t/06*.pl))
tap-sanitized: installed $(FAULTPOINT) $(foreach sanitizer,$(SANITIZERS),build/$(sanitizer)/$(WORKER)) ## the worker's TAP tests with ThreadSanitizer and AddressSanitizer
	@for sanitizer in $(SANITIZERS); do \
		echo "== $$sanitizer"; PG_BACKFILL=build/$$sanitizer/$(WORKER) test/env/run-tap $(WORKER_TESTS) || exit 1; done

# PROPERTY_SCHEDULES and PROPERTY_SEED say how many and which.
property: export PROPERTY_SCHEDULES ?= 50000
property: installed $(FAULTPOINT) ## many random lives of messages and pipelines, more than the tests try
	@test/env/run-tap test/t/02*_property.pl

lint: build lint-clang ## layer, longjmp, naming and SQL rules; exported symbols; clang++ -Werror
	@perl test/lint/can_fail.pl
	@perl test/lint/rules.pl .

# Compiles everything a second time, for the diagnostics only.
clang_accepts = printf '%s\n' $(1) | xargs -P 2 -I{} sh -c \
	'if $(CLANGXX) -fsyntax-only $(STD) $(WARN) $(2) {}; then echo "ok - clang++ {}"; else echo "not ok - clang++ {}"; exit 1; fi'
lint-clang:
	@status=0; \
	$(call clang_accepts,$(CORE_SRCS) $(BUREAU_SRCS) $(UNIT_SRCS) test/bench/reader_bench.cpp,-Iextension -I.) || status=1; \
	$(call clang_accepts,$(BOUNDARY_SRCS) $(ENGINE_SRCS) $(LEADS_SRCS),-Wno-register $(SERVER_INCLUDE) -DPG_BACKFILL_VERSION=\"$(RELEASE)\") || status=1; \
	$(call clang_accepts,$(WORKER_SRCS),-Iextension -I. -isystem $(libpq_srcdir) $(WORKER_DEFINES) -DPG_BACKFILL_VERSION=\"$(RELEASE)\") || status=1; \
	exit $$status

bench: installed build/bench/reader ## measurements, and the targets beside them (BENCH=full: large tables)
	@test/env/with-cluster test/bench/run

clean: ## everything that was built
endif

packages: ## what building and testing needs, from Debian (asks for sudo if something is missing)
	@test/env/install-packages

demo: packages ## shows the job on a throw-away server (KEEP=1 leaves it up)
	@MAKE='$(MAKE)' test/demo/run

test: ## everything, set-up included; ends with `N passed, N failed`
	@MAKE='$(MAKE)' test/env/run-suites unit fuzz-short regress isolation tap lint

help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r t h; do printf '%-17s %s\n' "$$t" "$$h"; done

.PHONY: all build install-more install-service uninstall-more uninstall-service installed unit fuzz fuzz-short bench-reader regress isolation tap tap-sanitized property lint lint-clang bench packages demo test help
