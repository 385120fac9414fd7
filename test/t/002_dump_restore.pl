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

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pg_backfill;
CREATE EXTENSION bt_leads;
INSERT INTO backfill.pipeline (name, owner, candidates, key_type, search_path, watermark)
VALUES ('orders', 'somebody', 'SELECT 1', 'bigint', 'public', '2026-11-28 00:30+00'), ('gone', 'somebody', 'SELECT 1', 'bigint', 'public', NULL);
DELETE FROM backfill.pipeline WHERE name = 'gone';
INSERT INTO backfill.step (pipeline_id, name, position, batch, check_sql, work_sql)
SELECT pipeline_id, 'price', 1, true, 'SELECT 1', 'SELECT 2' FROM backfill.pipeline;
INSERT INTO backfill.run (pipeline_id, mode, state, window_from, window_to, scan_from, scan_to, run_time, requested_by, requested_at)
SELECT pipeline_id, 'live', 'succeeded', '2026-11-28', '2026-11-29', '2026-11-28', '2026-11-28', '2026-11-28', 'somebody', '2026-11-28'
FROM backfill.pipeline, generate_series(1, 3);
INSERT INTO backfill.step_count SELECT run_id, 'price', 'ok', '', 7 FROM backfill.run;
INSERT INTO backfill.step_event (run_id, item, step, status, reason) SELECT run_id, '1', 'price', 'failed', 'x' FROM backfill.run;
SQL

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
command_ok([ 'pg_dump', '--file', $dump, $node->connstr('postgres') ], 'dump');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '--single-transaction', '--file', $dump, '--dbname', $node->connstr('restored') ],
	'restore');

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
for my $table (qw(pipeline step run step_count step_event))
{
	cmp_ok($node->safe_psql('restored', "SELECT count(*) FROM backfill.$table"), '>', 0, "$table was not empty");
}

my $sequences = q{SELECT oid::regclass, pg_sequence_last_value(oid) FROM pg_class
	WHERE relkind = 'S' AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('backfill', 'bt')) ORDER BY 1::text};
my $before = $node->safe_psql('postgres', $sequences);
is($node->safe_psql('restored', $sequences), $before, 'sequences stand where they stood');
like($before, qr/^backfill\.pipeline_pipeline_id_seq\|2$/m, 'and they had moved');
is( $node->safe_psql('restored', q{INSERT INTO backfill.pipeline (name, owner, candidates, key_type, search_path)
	VALUES ('next', 'somebody', 'SELECT 1', 'bigint', 'public') RETURNING pipeline_id}),
	'3', 'a new pipeline gets a new identity');

$node->stop;
done_testing();
