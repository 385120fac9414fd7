
-- What group_loans makes.

CREATE TYPE bt.transfer_candidate AS (
	group_key          text,
	lender             text,
	lender_masked      boolean,
	outstanding        numeric,
	loan_ids           text[],
	roles              text[],
	seasoning_months   integer,
	days_past_due_3    integer,
	days_past_due_6    integer,
	days_past_due_12   integer,
	score              integer,
	rate               numeric,
	rate_inferred      boolean,
	tenure_left_months integer,
	emi                numeric,
	emi_computed       boolean,
	missing            text[]
);
COMMENT ON TYPE bt.transfer_candidate IS 'a group of loans that could move to another lender, with facts about its primary loan';

CREATE TYPE bt.transfer_decision AS (
	reason         text,
	warnings       text[],
	warning_fields text[],
	candidates     bt.transfer_candidate[]
);
COMMENT ON TYPE bt.transfer_decision IS 'what could move to another lender, or why nothing could';

CREATE TABLE bt.loan_grouping (
	mobile              text COLLATE "C" PRIMARY KEY,
	unified_fingerprint bytea NOT NULL,
	policy_fingerprint  bytea NOT NULL,
	reason              text,
	fires               boolean NOT NULL GENERATED ALWAYS AS (reason IS NULL) STORED,
	warnings            text[] NOT NULL,
	warning_fields      text[] NOT NULL,
	grouped_at          timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX loan_grouping_fires ON bt.loan_grouping (mobile) WHERE fires;
COMMENT ON TABLE bt.loan_grouping IS 'that a borrower''s loans were grouped, and why there is nothing to transfer if there is nothing; one row a mobile number';
COMMENT ON COLUMN bt.loan_grouping.unified_fingerprint IS 'of the unified report it was made from; another one now makes it stale';
COMMENT ON COLUMN bt.loan_grouping.policy_fingerprint IS 'of the policy it was made under; another one now makes it stale';
COMMENT ON COLUMN bt.loan_grouping.reason IS 'no_active_home_loan, only_closed, lap_only and so on; null: there are groups';
COMMENT ON COLUMN bt.loan_grouping.fires IS 'there is a balance transfer';

CREATE TABLE bt.loan_group (
	mobile        text COLLATE "C" NOT NULL REFERENCES bt.loan_grouping ON DELETE CASCADE,
	group_key     text COLLATE "C" NOT NULL,
	lender        text,
	lender_masked boolean NOT NULL,
	outstanding   numeric NOT NULL,
	loan_ids      text[] NOT NULL,
	roles         text[] NOT NULL,
	PRIMARY KEY (mobile, group_key)
);
COMMENT ON TABLE bt.loan_group IS 'one lender''s active own home loans of a borrower, and its active own loans against property';
COMMENT ON COLUMN bt.loan_group.group_key IS 'the lender; where that is masked, the loan, which then is a group of its own';
COMMENT ON COLUMN bt.loan_group.loan_ids IS 'the loans, see bt.unified_loan; the primary first';
COMMENT ON COLUMN bt.loan_group.roles IS 'of these loans: primary, topup or lap';

CREATE TABLE bt.balance_transfer (
	mobile             text COLLATE "C" NOT NULL,
	group_key          text COLLATE "C" NOT NULL,
	state              text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'withdrawn')),
	withdrawn_reason   text CHECK (withdrawn_reason IS NOT NULL = (state = 'withdrawn')),
	lender             text,
	outstanding        numeric NOT NULL,
	seasoning_months   integer,
	days_past_due_3    integer,
	days_past_due_6    integer,
	days_past_due_12   integer,
	score              integer,
	rate               numeric,
	rate_inferred      boolean NOT NULL,
	tenure_left_months integer,
	emi                numeric,
	emi_computed       boolean NOT NULL,
	missing            text[] NOT NULL,
	fired_at           timestamptz NOT NULL DEFAULT now(),
	changed_at         timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (mobile, group_key)
);
COMMENT ON TABLE bt.balance_transfer IS 'a group that could move to another lender, and the facts that lender will ask for; what has fired is never taken away, only marked';
COMMENT ON COLUMN bt.balance_transfer.state IS 'withdrawn: a later report has no such group any more';
COMMENT ON COLUMN bt.balance_transfer.withdrawn_reason IS 'why nothing is left to transfer, or group_gone where another group is';
COMMENT ON COLUMN bt.balance_transfer.outstanding IS 'of the group, in rupees';
COMMENT ON COLUMN bt.balance_transfer.seasoning_months IS 'from the primary loan''s opening to the report, like all facts here: not to today';
COMMENT ON COLUMN bt.balance_transfer.days_past_due_3 IS 'the most within the last 3 reported months';
COMMENT ON COLUMN bt.balance_transfer.days_past_due_6 IS 'the most within the last 6 reported months';
COMMENT ON COLUMN bt.balance_transfer.days_past_due_12 IS 'the most within the last 12 reported months';
COMMENT ON COLUMN bt.balance_transfer.score IS 'the lowest that any bureau gives';
COMMENT ON COLUMN bt.balance_transfer.rate IS 'percent a year';
COMMENT ON COLUMN bt.balance_transfer.rate_inferred IS 'from the balance: no report names the rate';
COMMENT ON COLUMN bt.balance_transfer.emi_computed IS 'from amount, rate and tenure: no report names the EMI';
COMMENT ON COLUMN bt.balance_transfer.missing IS 'facts that are not known: seasoning, days_past_due, score, rate, tenure, emi, holder';

CREATE FUNCTION bt.decide_transfer(report bt.unified_reading, policy bt.policy) RETURNS bt.transfer_decision
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000
	AS 'MODULE_PATHNAME', 'bt_leads_decide_transfer';
COMMENT ON FUNCTION bt.decide_transfer(bt.unified_reading, bt.policy) IS 'groups a borrower''s loans by lender, and says what could move under this policy';

SELECT pg_catalog.pg_extension_config_dump('bt.loan_grouping', '');
SELECT pg_catalog.pg_extension_config_dump('bt.loan_group', '');
SELECT pg_catalog.pg_extension_config_dump('bt.balance_transfer', '');
