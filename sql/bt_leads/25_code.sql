
-- The bureaus' code tables, to join to. They live in the reader, which uses the same ones.

CREATE FUNCTION bt._account_types() RETURNS TABLE (code integer, name text, loan_class text, source text, disagreement text)
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__account_types';
COMMENT ON FUNCTION bt._account_types() IS 'see bt.account_type';
CREATE VIEW bt.account_type AS SELECT * FROM bt._account_types();
COMMENT ON VIEW bt.account_type IS 'what kind of account it is; all four bureaus are mapped to these codes';
COMMENT ON COLUMN bt.account_type.loan_class IS 'accounts of two bureaus can only be one loan if this agrees';
COMMENT ON COLUMN bt.account_type.source IS 'vendor: a vendor''s document; report_data: seen in reports; public_code: seen in public parsers; general: unconfirmed';
COMMENT ON COLUMN bt.account_type.disagreement IS 'how others read it';

CREATE FUNCTION bt._account_statuses() RETURNS TABLE (code integer, name text, status text, source text, disagreement text)
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__account_statuses';
COMMENT ON FUNCTION bt._account_statuses() IS 'see bt.account_status';
CREATE VIEW bt.account_status AS SELECT * FROM bt._account_statuses();
COMMENT ON VIEW bt.account_status IS 'status codes and the class each is read as';
COMMENT ON COLUMN bt.account_status.status IS 'of an account with no closing day and no adverse flags';
COMMENT ON COLUMN bt.account_status.source IS 'vendor: a vendor''s document; report_data: seen in reports; public_code: seen in public parsers; general: unconfirmed';
COMMENT ON COLUMN bt.account_status.disagreement IS 'how others read it';

CREATE FUNCTION bt._holder_codes() RETURNS TABLE (bureau text, code text, holder text, source text, disagreement text)
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__holder_codes';
COMMENT ON FUNCTION bt._holder_codes() IS 'see bt.holder_code';
CREATE VIEW bt.holder_code AS SELECT * FROM bt._holder_codes();
COMMENT ON VIEW bt.holder_code IS 'what the borrower is to an account, as each bureau writes it';
COMMENT ON COLUMN bt.holder_code.code IS 'letters and digits only, upper case';
COMMENT ON COLUMN bt.holder_code.source IS 'vendor: a vendor''s document; report_data: seen in reports; public_code: seen in public parsers; general: unconfirmed';
COMMENT ON COLUMN bt.holder_code.disagreement IS 'how others read it';

CREATE FUNCTION bt._account_type_texts() RETURNS TABLE (name text, code integer)
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__account_type_texts';
COMMENT ON FUNCTION bt._account_type_texts() IS 'see bt.account_type_text';
CREATE VIEW bt.account_type_text AS SELECT * FROM bt._account_type_texts();
COMMENT ON VIEW bt.account_type_text IS 'the words some bureaus write instead of an account type';
COMMENT ON COLUMN bt.account_type_text.name IS 'letters and digits only, upper case';

CREATE FUNCTION bt._status_texts() RETURNS TABLE (name text, status text)
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__status_texts';
COMMENT ON FUNCTION bt._status_texts() IS 'see bt.status_text';
CREATE VIEW bt.status_text AS SELECT * FROM bt._status_texts();
COMMENT ON VIEW bt.status_text IS 'the words some bureaus write instead of a status code';
COMMENT ON COLUMN bt.status_text.name IS 'letters and digits only, upper case';

CREATE FUNCTION bt._written_off_settled_codes() RETURNS TABLE (code integer, name text, effect text, source text, disagreement text)
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__written_off_settled_codes';
COMMENT ON FUNCTION bt._written_off_settled_codes() IS 'see bt.written_off_settled_code';
CREATE VIEW bt.written_off_settled_code AS SELECT * FROM bt._written_off_settled_codes();
COMMENT ON VIEW bt.written_off_settled_code IS 'written-off and settled flags';
COMMENT ON COLUMN bt.written_off_settled_code.effect IS 'status that the flag makes of an active account; null: none';
COMMENT ON COLUMN bt.written_off_settled_code.source IS 'vendor: a vendor''s document; report_data: seen in reports; public_code: seen in public parsers; general: unconfirmed';
COMMENT ON COLUMN bt.written_off_settled_code.disagreement IS 'how others read it';

CREATE FUNCTION bt._suit_filed_codes() RETURNS TABLE (code integer, name text, effect text, source text, disagreement text)
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__suit_filed_codes';
COMMENT ON FUNCTION bt._suit_filed_codes() IS 'see bt.suit_filed_code';
CREATE VIEW bt.suit_filed_code AS SELECT * FROM bt._suit_filed_codes();
COMMENT ON VIEW bt.suit_filed_code IS 'suit-filed and wilful-default flags';
COMMENT ON COLUMN bt.suit_filed_code.effect IS 'status that the flag makes of an active account; null: none';
COMMENT ON COLUMN bt.suit_filed_code.source IS 'vendor: a vendor''s document; report_data: seen in reports; public_code: seen in public parsers; general: unconfirmed';
COMMENT ON COLUMN bt.suit_filed_code.disagreement IS 'how others read it';

CREATE FUNCTION bt._other_codes() RETURNS TABLE (list text, code text, name text, source text, disagreement text)
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__other_codes';
COMMENT ON FUNCTION bt._other_codes() IS 'see bt.other_code';
CREATE VIEW bt.other_code AS SELECT * FROM bt._other_codes();
COMMENT ON VIEW bt.other_code IS 'codes that are only ever shown';
COMMENT ON COLUMN bt.other_code.list IS 'state, gender, address, employment, collateral and so on';
COMMENT ON COLUMN bt.other_code.source IS 'vendor: a vendor''s document; report_data: seen in reports; public_code: seen in public parsers; general: unconfirmed';
COMMENT ON COLUMN bt.other_code.disagreement IS 'how others read it';

CREATE FUNCTION bt._lender_aliases() RETURNS TABLE (name text, family text, renamed boolean)
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'bt_leads__lender_aliases';
COMMENT ON FUNCTION bt._lender_aliases() IS 'see bt.lender_alias';
CREATE VIEW bt.lender_alias AS SELECT * FROM bt._lender_aliases();
COMMENT ON VIEW bt.lender_alias IS 'lenders before and after a merger or a rename, and other spellings';
COMMENT ON COLUMN bt.lender_alias.renamed IS 'true: a merger or rename; false: another spelling of the same name';
