
-- What makes a loan fire a balance transfer: settings of the pipeline. Changing one makes the groups that were made
-- under the old setting stale, but moves nothing by itself: a replay, or its rehearsal first, shows and makes the difference.

CREATE TABLE bt.policy (
	is_in_force             boolean PRIMARY KEY DEFAULT true CHECK (is_in_force),
	home_loan_types         integer[] NOT NULL DEFAULT '{2,42,44}',
	property_loan_types     integer[] NOT NULL DEFAULT '{3}',
	property_loan_fires     boolean NOT NULL DEFAULT false,
	unlisted_status_fires   boolean NOT NULL DEFAULT true,
	zero_status_fires       boolean NOT NULL DEFAULT true,
	past_due_status_fires   boolean NOT NULL DEFAULT true,
	missing_status_fires    boolean NOT NULL DEFAULT false,
	open_adverse_fires      boolean NOT NULL DEFAULT false,
	joint_fires             boolean NOT NULL DEFAULT true,
	guarantor_fires         boolean NOT NULL DEFAULT false,
	authorised_user_fires   boolean NOT NULL DEFAULT false,
	deceased_fires          boolean NOT NULL DEFAULT false,
	unknown_holder_fires    boolean NOT NULL DEFAULT true,
	stale_fires             boolean NOT NULL DEFAULT true,
	identity_mismatch_fires boolean NOT NULL DEFAULT true,
	stale_after_months      integer NOT NULL DEFAULT 12 CHECK (stale_after_months > 0),
	outstanding_above       numeric NOT NULL DEFAULT 0 CHECK (outstanding_above >= 0),
	fingerprint             bytea NOT NULL
);
COMMENT ON TABLE bt.policy IS 'what makes a loan fire a balance transfer; one row';
COMMENT ON COLUMN bt.policy.is_in_force IS 'true: there is one row';
COMMENT ON COLUMN bt.policy.home_loan_types IS 'account types that are home loans: housing, microfinance housing, PMAY-CLSS';
COMMENT ON COLUMN bt.policy.property_loan_types IS 'account types that join the group of the same lender: loans against property';
COMMENT ON COLUMN bt.policy.property_loan_fires IS 'they fire without a home loan beside them';
COMMENT ON COLUMN bt.policy.unlisted_status_fires IS 'a status code that is in no table, read as active';
COMMENT ON COLUMN bt.policy.zero_status_fires IS 'status 0, no suit filed, with a balance and no closing day';
COMMENT ON COLUMN bt.policy.past_due_status_fires IS 'status 71 to 84: days past due, still active';
COMMENT ON COLUMN bt.policy.open_adverse_fires IS 'restructured, suit filed, wilful default, written off';
COMMENT ON COLUMN bt.policy.unknown_holder_fires IS 'the report does not say whose the account is';
COMMENT ON COLUMN bt.policy.stale_fires IS 'last reported more than stale_after_months before the report; a warning in any case';
COMMENT ON COLUMN bt.policy.identity_mismatch_fires IS 'reports of one mobile with different PANs; a warning in any case';
COMMENT ON COLUMN bt.policy.outstanding_above IS 'rupees that must be exceeded';
COMMENT ON COLUMN bt.policy.fingerprint IS 'of the settings, kept by a trigger; groups carry the one they were made under';

CREATE FUNCTION bt._stamp_policy() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		-- The row of a dump comes after the one of this script, and is the one that counts.
		DELETE FROM bt.policy;
	END IF;
	NEW.fingerprint := '';
	NEW.fingerprint := sha256(convert_to(NEW::text, 'UTF8'));
	RETURN NEW;
END $$;
COMMENT ON FUNCTION bt._stamp_policy() IS 'trigger: one row, a new one replaces it; keeps the fingerprint of the settings';
CREATE TRIGGER stamp_policy BEFORE INSERT OR UPDATE ON bt.policy FOR EACH ROW EXECUTE FUNCTION bt._stamp_policy();
COMMENT ON TRIGGER stamp_policy ON bt.policy IS 'one row, with the fingerprint of its settings';

INSERT INTO bt.policy DEFAULT VALUES;
