# pg_backfill: two PostgreSQL extensions (PGXS), and the worker that goes with them.

VERSION        = 0.1.0
EXTENSION      = extension/pg_backfill extension/bt_leads
MODULE_big     = pg_backfill
LEADS_LIBRARY  = bt_leads.so
WORKER         = pg_backfill
INSTALL_SCRIPTS = sql/pg_backfill--$(VERSION).sql sql/bt_leads--$(VERSION).sql
DATA           = $(INSTALL_SCRIPTS)

# core is compiled for the server and for the worker, each with its own include path; bureau sees neither.
# Files right in extension/pg are the boundary and go into both libraries.
CORE_SRCS      = $(sort $(wildcard extension/core/*.cpp))
BUREAU_SRCS    = $(sort $(wildcard extension/bureau/*.cpp extension/bureau/*/*.cpp))
BOUNDARY_SRCS  = $(sort $(wildcard extension/pg/*.cpp))
ENGINE_SRCS    = $(sort $(wildcard extension/pg/engine/*.cpp))
LEADS_SRCS     = $(sort $(wildcard extension/pg/leads/*.cpp))
WORKER_SRCS    = $(sort $(shell find worker -name '*.cpp'))
OBJS           = $(patsubst %.cpp,%.o,$(CORE_SRCS) $(BOUNDARY_SRCS) $(ENGINE_SRCS))
LEADS_OBJS     = $(patsubst %.cpp,%.o,$(CORE_SRCS) $(BUREAU_SRCS) $(BOUNDARY_SRCS) $(LEADS_SRCS))
WORKER_OBJS    = $(patsubst %.cpp,%.w.o,$(CORE_SRCS) $(WORKER_SRCS))
UNIT_TESTS     = $(patsubst %.cpp,%,$(sort $(wildcard test/unit/*_test.cpp)))

# Inputs in test/sql and test/specs, expected output of both in expected/.
REGRESS        = $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
REGRESS_OPTS   = --inputdir=test --load-extension=pg_backfill --load-extension=bt_leads
ISOLATION      = $(sort $(patsubst test/specs/%.spec,%,$(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=. --load-extension=pg_backfill --load-extension=bt_leads

STD            = -std=c++20
WARN           = -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror
PG_CPPFLAGS    = -Iextension -isystem $(includedir_server) -MMD -MP
PG_CXXFLAGS    = $(STD) $(WARN) -Wno-register -O2 -fvisibility=hidden -fvisibility-inlines-hidden
SHLIB_LINK     = -lstdc++
LEADS_LINK     = -lpugixml -lsimdjson
WORKER_CFLAGS  = $(STD) $(WARN) -O2 -g -MMD -MP -Iextension -I. -isystem $(libpq_srcdir) \
                 -DPG_BACKFILL_VERSION='"$(VERSION)"' $(shell pkg-config --cflags spdlog)
WORKER_LIBS    = $(libpq) $(shell pkg-config --libs spdlog)
EXTRA_CLEAN    = $(INSTALL_SCRIPTS) $(LEADS_LIBRARY) $(LEADS_OBJS) $(WORKER) $(WORKER_OBJS) $(UNIT_TESTS) \
                 $(patsubst %.o,%.d,$(OBJS) $(LEADS_OBJS) $(WORKER_OBJS)) $(UNIT_TESTS:=.d) build

PG_CONFIG     ?= pg_config
# No LLVM bitcode: PGXS would compile it with clang and without $(PG_CXXFLAGS).
override with_llvm = no
PGXS          := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

-include $(patsubst %.o,%.d,$(OBJS) $(LEADS_OBJS) $(WORKER_OBJS))

all: $(LEADS_LIBRARY) $(WORKER) $(INSTALL_SCRIPTS)

# An install script is the files of its folder, in their order.
sql/%--$(VERSION).sql: $(wildcard sql/pg_backfill/*.sql sql/bt_leads/*.sql)
	(echo '\echo Use "CREATE EXTENSION $*" to load this file. \quit'; cat sql/$*/*.sql) >$@

$(LEADS_LIBRARY): $(LEADS_OBJS)
	$(CXX) $(CXXFLAGS) -shared -o $@ $(LEADS_OBJS) $(LDFLAGS) $(LEADS_LINK)

%.w.o: %.cpp
	$(CXX) $(WORKER_CFLAGS) -c -o $@ $<

$(WORKER): $(WORKER_OBJS)
	$(CXX) -o $@ $^ $(WORKER_LIBS)

install: install-more
install-more: $(LEADS_LIBRARY) $(WORKER)
	$(MKDIR_P) '$(DESTDIR)$(bindir)' '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) $(LEADS_LIBRARY) '$(DESTDIR)$(pkglibdir)/$(LEADS_LIBRARY)'
	$(INSTALL_PROGRAM) $(WORKER) '$(DESTDIR)$(bindir)/$(WORKER)'

uninstall: uninstall-more
uninstall-more:
	rm -f '$(DESTDIR)$(pkglibdir)/$(LEADS_LIBRARY)' '$(DESTDIR)$(bindir)/$(WORKER)'

unit: $(UNIT_TESTS)
	@set -e; for t in $^; do echo "$$t"; ./$$t; done

test/unit/%_test: test/unit/%_test.cpp $(CORE_SRCS) $(BUREAU_SRCS)
	$(CXX) $(STD) $(WARN) -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -Iextension -o $@ $^ $(LEADS_LINK)

.PHONY: install-more uninstall-more unit
