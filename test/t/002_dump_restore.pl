# What users put into the extension's tables survives pg_dump and restore, and identities go on where they were.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE restored');

# Item 13 fails, so that every table of the engine has something to lose.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pg_backfill;
CREATE EXTENSION bt_leads;
CREATE TABLE item (id bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE price (id bigint PRIMARY KEY);
INSERT INTO item SELECT generate_series(10, 14);
SELECT backfill.create_pipeline('gone', candidates => 'SELECT id FROM item WHERE at >= $1 AND at < $2', key_type => 'bigint');
SELECT backfill.create_pipeline('orders', candidates => 'SELECT id FROM item WHERE at >= $1 AND at < $2', key_type => 'bigint');
SELECT backfill.drop_pipeline('gone');
SELECT backfill.add_step('orders', 'price', done => 'SELECT EXISTS (SELECT FROM price p WHERE p.id = $1)',
	work => 'INSERT INTO price SELECT $1 WHERE 1 / ($1 - 13) IS NOT NULL');
SQL
$node->safe_psql('postgres', q{SELECT backfill.set_alarm('orders', 'same_items_failing', threshold => 1)});
$node->safe_psql('postgres', q{CALL backfill.run('orders')}) for 1 .. 2;
$node->safe_psql('postgres', q{SELECT backfill.set_alarm('orders', 'flood', threshold => 7), backfill.set_retention('orders', details => '30 days')});
$node->safe_psql('postgres', <<'SQL');
SELECT backfill.create_pipeline('later', candidates => 'SELECT id FROM item WHERE at >= $1 AND at < $2', key_type => 'bigint', after => 'orders');
SQL

# One lead with everything that can be made for it, and a setting that is not the one the install script brings.
$node->safe_psql('postgres', <<'SQL');
UPDATE bt.policy SET stale_after_months = 6;
INSERT INTO bt.lead (mobile) VALUES ('7000000001');
INSERT INTO bt.credit_report (mobile, body) VALUES ('7000000001', convert_to('{"INProfileResponse": {"Header": {"ReportDate": "20261125",
	"ReportTime": "101530"}, "SCORE": {"BureauScore": "750"}, "CAIS_Account": {"CAIS_Account_DETAILS": {"Subscriber_Name": "HDFC Bank",
	"Account_Number": "XXXX1234", "Account_Type": "02", "Open_Date": "20190615", "Highest_Credit_or_Original_Loan_Amount": "3500000",
	"Account_Status": "11", "Current_Balance": "200", "Date_Reported": "20261031", "AccountHoldertypeCode": "1"}}}}', 'UTF8'));
SELECT bt.normalize_report('{1}');
SELECT bt.unify_reports('{1}');
SELECT bt.group_loans('{1}');
SELECT bt.update_web_status('{1}');
SQL

# What a command says besides, when it succeeds.
sub stderr_like
{
	my ($command, $expected, $name) = @_;
	my $said = '';
	ok(IPC::Run::run($command, '>', \my $ignored, '2>', \$said), "$name succeeds");
	like($said, $expected, "$name says nothing more");
}

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
stderr_like([ 'pg_dump', '--file', $dump, $node->connstr('postgres') ], qr/^$/, 'dump');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '--single-transaction', '--file', $dump, '--dbname', $node->connstr('restored') ],
	'restore');

# The rows alone, into an extension that is there: nothing refers to what comes later.
my $rows = "$dump.rows";
stderr_like([ 'pg_dump', '--data-only', '--schema', 'backfill', '--extension', 'pg_backfill', '--file', $rows, $node->connstr('postgres') ], qr/^$/, 'dump of the rows alone');
$node->safe_psql('postgres', 'CREATE DATABASE refilled');
$node->safe_psql('refilled', 'CREATE EXTENSION pg_backfill');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '--single-transaction', '--file', $rows, '--dbname', $node->connstr('refilled') ],
	'restore of the rows alone');
is($node->safe_psql('refilled', 'SELECT d.name FROM backfill.pipeline d JOIN backfill.pipeline u ON u.pipeline_id = d.after'), 'later', 'with what runs after what');

# Every ordinary table of the two schemas, so that a new one cannot be forgotten.
my @tables = split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT c.oid::regclass FROM pg_class c
WHERE c.relkind IN ('r', 'p') AND c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('backfill', 'bt')) ORDER BY 1::text
SQL
cmp_ok(scalar @tables, '>=', 5, 'there are tables');
for my $table (@tables)
{
	my $contents = "SELECT t.*::text FROM $table t ORDER BY 1";
	is($node->safe_psql('restored', $contents), $node->safe_psql('postgres', $contents), "$table is as it was");
}
for my $table (qw(pipeline step run step_event item_failure run_shape alarm alarm_setting retention))
{
	cmp_ok($node->safe_psql('restored', "SELECT count(*) FROM backfill.$table"), '>', 0, "$table was not empty");
}

for my $table (qw(lead credit_report normalized_report tradeline unified_report unified_loan loan_grouping loan_group balance_transfer
	web_status_event policy))
{
	is($node->safe_psql('restored', "SELECT count(*) FROM bt.$table"), 1, "$table has its row");
}
is($node->safe_psql('restored', <<'SQL'), 0, 'and nothing of it is stale');
SELECT count(*) FROM (SELECT bt.normalize_report_lacking('{1}') UNION ALL SELECT bt.unify_reports_lacking('{1}') UNION ALL SELECT bt.group_loans_lacking('{1}')) x
SQL

my $alarms = q{SELECT alarm_id, kind, alarm, closed_at IS NULL FROM backfill.alarm_history};
is($node->safe_psql('restored', $alarms), '1|same_items_failing|1 item has failed in 1 window in a row, or in more|t', 'an open alarm is still open');

my $sequences = q{SELECT oid::regclass, pg_sequence_last_value(oid) FROM pg_class
	WHERE relkind = 'S' AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('backfill', 'bt')) ORDER BY 1::text};
my $before = $node->safe_psql('postgres', $sequences);
is($node->safe_psql('restored', $sequences), $before, 'sequences stand where they stood');
like($before, qr/^backfill\.pipeline_pipeline_id_seq\|3$/m, 'and they had moved');

my $last = q{SELECT run_id, candidates, changed, failed FROM backfill.run ORDER BY run_id DESC LIMIT 1};
is($node->safe_psql('postgres', $last), '2|5|0|1', 'the second run changed nothing');
$node->safe_psql('restored', q{CALL backfill.run('orders')});
is($node->safe_psql('restored', $last), '3|5|0|1', 'the restored pipeline runs, finds its outputs, and numbers go on');
is($node->safe_psql('restored', $alarms), $node->safe_psql('postgres', $alarms), 'and raises the alarm no second time');
$node->safe_psql('restored', q{UPDATE item SET id = 15 WHERE id = 13});
$node->safe_psql('restored', q{CALL backfill.run('orders')});
is($node->safe_psql('restored', "$alarms WHERE closed_at IS NOT NULL") =~ s/\|.*//sr, '1', 'which closes there when the item is mended');

$node->stop;
done_testing();
