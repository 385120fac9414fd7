
-- What unify_reports makes.

CREATE TYPE bt.disagreement AS (field text, bureau text, value text);
COMMENT ON TYPE bt.disagreement IS 'a value that lost against another bureau''s';

CREATE TYPE bt.unified_loan_reading AS (
	loan_id       text,
	bureaus       text[],
	positions     integer[],
	provenance    text[],
	disagreements bt.disagreement[],
	facts         bt.tradeline_reading
);
COMMENT ON TYPE bt.unified_loan_reading IS 'one loan, however many bureaus know it';

CREATE TYPE bt.unified_reading AS (
	reason         text,
	warnings       text[],
	warning_fields text[],
	report_at      timestamptz,
	experian_score integer,
	cibil_score    integer,
	equifax_score  integer,
	crif_score     integer,
	loans          bt.unified_loan_reading[]
);
COMMENT ON TYPE bt.unified_reading IS 'what all bureaus say about one borrower';

CREATE TABLE bt.unified_report (
	mobile         text COLLATE "C" PRIMARY KEY,
	fingerprint    bytea NOT NULL,
	sources        bigint[] NOT NULL,
	reason         text,
	warnings       text[] NOT NULL,
	warning_fields text[] NOT NULL,
	report_at      timestamptz,
	experian_score integer,
	cibil_score    integer,
	equifax_score  integer,
	crif_score     integer,
	unified_at     timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE bt.unified_report IS 'what all bureaus say about one borrower; one row a mobile number';
COMMENT ON COLUMN bt.unified_report.mobile IS 'as bt.mobile_number() gives it';
COMMENT ON COLUMN bt.unified_report.fingerprint IS 'of what it was made from, see bt.source_fingerprint(); another one now makes it stale';
COMMENT ON COLUMN bt.unified_report.sources IS 'the normalized reports it was made from; later ones that say the same leave it as it is';
COMMENT ON COLUMN bt.unified_report.reason IS 'why there are no loans: no_accounts; null: there are';
COMMENT ON COLUMN bt.unified_report.warnings IS 'identity_mismatch: the reports name different PANs';
COMMENT ON COLUMN bt.unified_report.report_at IS 'the newest of the reports';
COMMENT ON COLUMN bt.unified_report.experian_score IS 'scores stay apart: they are not on one scale';

CREATE TABLE bt.unified_loan (
	mobile        text COLLATE "C" NOT NULL,
	loan_id       text COLLATE "C" NOT NULL,
	bureaus       text[] NOT NULL,
	positions     integer[] NOT NULL,
	provenance    text[],
	disagreements bt.disagreement[],
	LIKE bt.tradeline_reading INCLUDING COMMENTS,
	PRIMARY KEY (mobile, loan_id)
);
COMMENT ON TABLE bt.unified_loan IS 'one loan, however many bureaus know it';
COMMENT ON COLUMN bt.unified_loan.loan_id IS 'the same in every run over the same reports';
COMMENT ON COLUMN bt.unified_loan.bureaus IS 'that know it';
COMMENT ON COLUMN bt.unified_loan.positions IS 'where it stands in the reports of these bureaus';
COMMENT ON COLUMN bt.unified_loan.provenance IS 'whose value each field has, as field:bureau; null where one bureau knows the loan';
COMMENT ON COLUMN bt.unified_loan.disagreements IS 'values of other bureaus that lost';
COMMENT ON COLUMN bt.unified_loan.position IS 'in the unified report, from 1';

-- As with tradelines: written in one statement with their report, and gone with it.
CREATE FUNCTION bt._forget_loans() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off
	AS $$
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		TRUNCATE bt.unified_loan;
	ELSE
		DELETE FROM bt.unified_loan l WHERE l.mobile = ANY (ARRAY(SELECT g.mobile FROM gone g));
	END IF;
	RETURN NULL;
END $$;
COMMENT ON FUNCTION bt._forget_loans() IS 'trigger: no loan without its report';
CREATE TRIGGER forget_loans AFTER DELETE ON bt.unified_report REFERENCING OLD TABLE AS gone
	FOR EACH STATEMENT EXECUTE FUNCTION bt._forget_loans();
COMMENT ON TRIGGER forget_loans ON bt.unified_report IS 'no loan without its report';
CREATE TRIGGER forget_all_loans AFTER TRUNCATE ON bt.unified_report
	FOR EACH STATEMENT EXECUTE FUNCTION bt._forget_loans();
COMMENT ON TRIGGER forget_all_loans ON bt.unified_report IS 'no loan without its report';

-- The opposite of storing it, for what comes after.
CREATE FUNCTION bt._unified_reading(u bt.unified_report) RETURNS bt.unified_reading
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
	SELECT ROW(u.reason, u.warnings, u.warning_fields, u.report_at, u.experian_score, u.cibil_score, u.equifax_score, u.crif_score, ARRAY(
		SELECT ROW(l.loan_id, l.bureaus, l.positions, l.provenance, l.disagreements, ROW(l.position, l.lender, l.lender_family,
			l.lender_masked, l.account_number, l.number_tail, l.account_type, l.status_code, l.status, l.holder, l.opened, l.closed,
			l.reported, l.last_payment, l.sanctioned, l.balance, l.past_due, l.emi, l.written_off, l.rate, l.tenure_months, l.dpd,
			l.history_newest, l.history_dpd)::bt.tradeline_reading)::bt.unified_loan_reading
		FROM bt.unified_loan l WHERE l.mobile = u.mobile ORDER BY l.position))::bt.unified_reading;
	END;
COMMENT ON FUNCTION bt._unified_reading(bt.unified_report) IS 'a stored unified report as the merge gave it';

CREATE FUNCTION bt.unify(readings bt.report_reading[]) RETURNS bt.unified_reading
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50000
	AS 'MODULE_PATHNAME', 'bt_leads_unify';
COMMENT ON FUNCTION bt.unify(bt.report_reading[]) IS 'merges readings of one borrower, at most one of each bureau, in any order';

SELECT pg_catalog.pg_extension_config_dump('bt.policy', '');
SELECT pg_catalog.pg_extension_config_dump('bt.unified_report', '');
SELECT pg_catalog.pg_extension_config_dump('bt.unified_loan', '');
