
-- Reading a report's body: pure, and usable on any table.

CREATE TYPE bt.tradeline_reading AS (
	position       integer,
	lender         text,
	lender_family  text,
	lender_masked  boolean,
	account_number text,
	number_tail    text,
	account_type   integer,
	status_code    text,
	status         text,
	holder         text,
	opened         date,
	closed         date,
	reported       date,
	last_payment   date,
	sanctioned     numeric,
	balance        numeric,
	past_due       numeric,
	emi            numeric,
	written_off    numeric,
	rate           numeric,
	tenure_months  integer,
	dpd            integer,
	history_newest date,
	history_dpd    integer[]
);
COMMENT ON TYPE bt.tradeline_reading IS 'one account as one bureau reports it; amounts in rupees';
COMMENT ON COLUMN bt.tradeline_reading.position IS 'in the report, from 1';
COMMENT ON COLUMN bt.tradeline_reading.lender IS 'normalised name; null when masked or absent';
COMMENT ON COLUMN bt.tradeline_reading.lender_family IS 'lender after mergers and renames';
COMMENT ON COLUMN bt.tradeline_reading.number_tail IS 'the unmasked last digits of the account number, if there are at least four';
COMMENT ON COLUMN bt.tradeline_reading.account_type IS 'see bt.account_type';
COMMENT ON COLUMN bt.tradeline_reading.status_code IS 'as reported, blanks and leading zeros trimmed';
COMMENT ON COLUMN bt.tradeline_reading.status IS 'active, closed, over, open_adverse or unknown; see bt.account_status';
COMMENT ON COLUMN bt.tradeline_reading.holder IS 'individual, joint, authorised_user, guarantor, deceased or unknown';
COMMENT ON COLUMN bt.tradeline_reading.reported IS 'the bureau''s as-of day for this account';
COMMENT ON COLUMN bt.tradeline_reading.balance IS 'signed: a credit balance is negative';
COMMENT ON COLUMN bt.tradeline_reading.emi IS 'scheduled monthly payment';
COMMENT ON COLUMN bt.tradeline_reading.rate IS 'percent a year';
COMMENT ON COLUMN bt.tradeline_reading.dpd IS 'days past due now';
COMMENT ON COLUMN bt.tradeline_reading.history_newest IS 'first day of the month of the first element of history_dpd';
COMMENT ON COLUMN bt.tradeline_reading.history_dpd IS 'days past due by month, newest first, no month left out; null where the bureau gives none';

CREATE TYPE bt.report_reading AS (
	outcome         text,
	reason          text,
	warnings        text[],
	warning_fields  text[],
	bureau          text,
	report_number   text,
	report_at       timestamptz,
	score           integer,
	mobile          text,
	name            text,
	pan             text,
	complete        boolean,
	loans           integer,
	semantic_sha256 bytea,
	reader_version  integer,
	tradelines      bt.tradeline_reading[]
);
COMMENT ON TYPE bt.report_reading IS 'what one body says';
COMMENT ON COLUMN bt.report_reading.outcome IS 'ok: an active home loan of the borrower''s own; skipped: a valid report with nothing to transfer; failed: not a usable report';
COMMENT ON COLUMN bt.report_reading.reason IS 'why it was skipped or failed; null for ok';
COMMENT ON COLUMN bt.report_reading.warnings IS 'what could not be read or contradicts itself: codes, each once';
COMMENT ON COLUMN bt.report_reading.warning_fields IS 'the same with the report''s own field names, as code:field; never a value from the body';
COMMENT ON COLUMN bt.report_reading.report_at IS 'when the bureau made the report';
COMMENT ON COLUMN bt.report_reading.score IS '300 to 900';
COMMENT ON COLUMN bt.report_reading.complete IS 'false: degraded (no score, or fewer accounts than its own summary announces)';
COMMENT ON COLUMN bt.report_reading.loans IS 'after removing duplicates inside the report';
COMMENT ON COLUMN bt.report_reading.semantic_sha256 IS 'equal for reports that say the same of the same loans, whenever they were pulled';
COMMENT ON COLUMN bt.report_reading.tradelines IS 'as reported, duplicates inside the report included; null for a failed reading';

CREATE FUNCTION bt.read_report(body bytea) RETURNS bt.report_reading
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50000
	AS 'MODULE_PATHNAME', 'bt_leads_read_report';
COMMENT ON FUNCTION bt.read_report(bytea) IS 'reads one report body as received: any wrapper, JSON or XML, any of the four bureaus; a bad body is an outcome, not an error';

CREATE FUNCTION bt.reader_version() RETURNS integer
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads_reader_version';
COMMENT ON FUNCTION bt.reader_version() IS 'changes whenever the same body could be read differently';
