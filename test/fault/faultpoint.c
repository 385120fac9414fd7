/*
 * A module for tests only: makes one fault at the Nth place where a CALL does something that a fault could divide.
 *
 *   LOAD '.../faultpoint';
 *   SET faultpoint.how = 'kill';    -- SIGKILL, or terminate, cancel, error
 *   SET faultpoint.at = 7;
 *   CALL ...;                       -- counting starts here
 *   SHOW faultpoint.passed;         -- less than 7: there are no more places
 *
 * Places: a query starts or is over; a utility command starts; a transaction is about to commit or has committed; a
 * subtransaction starts, commits or was rolled back.
 */
#include "postgres.h"

#include <signal.h>
#include <unistd.h>

#include "access/xact.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void _PG_init(void);

enum How { KILL, TERMINATE, CANCEL, RAISE };

static const struct config_enum_entry how_options[] = {
	{"kill", KILL, false}, {"terminate", TERMINATE, false}, {"cancel", CANCEL, false}, {"error", RAISE, false}, {NULL, 0, false}};

static int how = KILL;
static int at = 0;
static int passed = 0;
static bool counting = false;

static ExecutorStart_hook_type next_start;
static ExecutorEnd_hook_type next_end;
static ProcessUtility_hook_type next_utility;

/* A place that cannot fail passes an error or interrupt on to the next. */
static void
pass(const char *place, bool can_fail)
{
	if (!counting || ++passed != at)
		return;
	switch (how)
	{
		case KILL:
			kill(getpid(), SIGKILL);
			pause();
			break;
		case TERMINATE:
			ProcDiePending = true;
			InterruptPending = true;
			break;
		case CANCEL:
			QueryCancelPending = true;
			InterruptPending = true;
			break;
		case RAISE:
			if (can_fail)
				ereport(ERROR, (errcode(ERRCODE_IO_ERROR), errmsg("fault at place %d: %s", passed, place)));
			at++;
			break;
	}
}

static void
on_start(QueryDesc *query, int flags)
{
	pass("query starts", true);
	(next_start ? next_start : standard_ExecutorStart)(query, flags);
}

static void
on_end(QueryDesc *query)
{
	(next_end ? next_end : standard_ExecutorEnd)(query);
	pass("query is over", true);
}

static void
on_utility(PlannedStmt *statement, const char *text, bool read_only, ProcessUtilityContext context, ParamListInfo params,
		   QueryEnvironment *environment, DestReceiver *receiver, QueryCompletion *completion)
{
	if (context == PROCESS_UTILITY_TOPLEVEL)
		counting = at > 0 && IsA(statement->utilityStmt, CallStmt);
	pass("utility command", true);
	(next_utility ? next_utility : standard_ProcessUtility)(statement, text, read_only, context, params, environment,
															receiver, completion);
}

static void
on_transaction(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_PRE_COMMIT)
		pass("commit starts", true);
	else if (event == XACT_EVENT_COMMIT)
		pass("committed", false);
}

static void
on_subtransaction(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *argument)
{
	if (event == SUBXACT_EVENT_START_SUB) /* an error here is fatal to PostgreSQL itself */
		pass("subtransaction starts", false);
	else if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
		pass("subtransaction ends", true);
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		pass("subtransaction rolled back", false);
}

void
_PG_init(void)
{
	DefineCustomEnumVariable("faultpoint.how", "Kind of fault.", NULL, &how, KILL, how_options, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("faultpoint.at", "Number of the place; 0: no fault.", NULL, &at, 0, 0, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("faultpoint.passed", "Places passed so far.", NULL, &passed, 0, 0, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = on_start;
	next_end = ExecutorEnd_hook;
	ExecutorEnd_hook = on_end;
	next_utility = ProcessUtility_hook;
	ProcessUtility_hook = on_utility;
	RegisterXactCallback(on_transaction, NULL);
	RegisterSubXactCallback(on_subtransaction, NULL);
}
