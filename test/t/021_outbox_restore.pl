# A restored copy knows what was told: replaying there, opted in, makes nothing wait that was sent.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "timezone = 'UTC'\nclient_min_messages = warning");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE restored');

my $noon = "SET backfill.narrate = none; SET backfill.test_clock_seconds = 1793620800;\n"; # 2 November 2026, 12:00
my $next_day = "SET backfill.narrate = none; SET backfill.test_clock_seconds = 1793700000;\n"; # 3 November 2026, 10:00
my $states = 'SELECT item, state, reason, attempts FROM backfill.outbox ORDER BY message_id';

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pg_backfill;
CREATE TABLE item (id bigint PRIMARY KEY, at timestamptz NOT NULL);
CREATE TABLE done (id bigint PRIMARY KEY);
INSERT INTO item SELECT n, '2026-11-02 10:00' FROM generate_series(1, 6) n;
SELECT backfill.create_pipeline('told', candidates => 'SELECT id, at FROM item WHERE at >= $1 AND at < $2');
SELECT backfill.add_step('told', 'tell', done => 'SELECT EXISTS (SELECT FROM done d WHERE d.id = $1)',
	work => $$ WITH d AS (INSERT INTO done VALUES ($1)) SELECT backfill.emit('webhook:crm_' || $1, 'note', '{"n": 1}'), backfill.count('told') $$,
	clear => 'DELETE FROM done WHERE id = $1');
SQL
$node->safe_psql('postgres', $noon . "CALL backfill.run('told')");
# 1 and 2 sent, 3 unknown, 4 dead, 5 in flight; 6 waits.
$node->safe_psql('postgres', $noon . <<'SQL');
SELECT token AS t FROM backfill.claim_deliveries('webhook', 5, '10 minutes') LIMIT 1 \gset
SELECT backfill.mark_sent('{1, 2}', :t), backfill.mark_unknown('{3}', :t, 'timeout'), backfill.mark_failed('{4}', :t, 'http_404', permanent => true);
SQL
my $before = $node->safe_psql('postgres', $states);
is($before, "1|sent||1\n2|sent||1\n3|unknown|timeout|1\n4|dead|http_404|1\n5|claimed||1\n6|pending||0", 'one message in each state');

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
command_ok([ 'pg_dump', '--file', $dump, $node->connstr('postgres') ], 'dump');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '--single-transaction', '--file', $dump, '--dbname', $node->connstr('restored') ],
	'restore');
is($node->safe_psql('restored', $states), $before, 'the copy knows the states');
is($node->safe_psql('restored', $noon . 'SELECT * FROM backfill.check_invariants()'), '', 'all holds there');

$node->safe_psql('restored', $next_day . <<'SQL');
SELECT FROM backfill.replay('told', '2026-11-02', '2026-11-03', redo => 'all', deliver => true);
CALL backfill.run_requested('told');
SQL
is($node->safe_psql('restored', 'SELECT state, candidates, changed FROM backfill.run ORDER BY run_id DESC LIMIT 1'), 'succeeded|6|6', 'the copy made everything again');
is($node->safe_psql('restored', $states), $before, 'and told nobody');
is($node->safe_psql('restored', 'SELECT sum(amount), count(*) FROM backfill.counter'), '6|6', 'and counted nothing twice');

is($node->safe_psql('restored', $noon . 'SELECT * FROM backfill.abandon_claims()'), '5', 'what was in flight is known');
is($node->safe_psql('restored', $noon . q{SELECT message_id, token > 1 FROM backfill.claim_deliveries('webhook')}), '6|t',
	'only what waited can be claimed, by a token that nobody had');
is($node->safe_psql('restored', $noon . 'SELECT * FROM backfill.check_invariants()'), '', 'all holds');

$node->stop;
done_testing();
