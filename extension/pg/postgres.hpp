#pragma once
// The only door to PostgreSQL's headers. postgres.h comes first, always.
extern "C" {
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
}
// PostgreSQL's function-like macros that C++ headers use as names.
#undef Min
#undef Max
#undef gettext
#undef dgettext
#undef ngettext
#undef snprintf
#undef vsnprintf
#undef sprintf
#undef printf
#undef fprintf
#undef bind
