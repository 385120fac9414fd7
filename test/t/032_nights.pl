# Nights that a server does not live through: it was down when the tick came, or it died in the middle of a run. A job on
# the last 24 hours, run at the same moments, loses rows; the pipeline does not, and does nothing twice.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_prepared_transactions = 5\nrestart_after_crash = off");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pg_backfill;
CREATE TABLE item (id bigint PRIMARY KEY, at timestamptz NOT NULL);
CREATE TABLE output (id bigint NOT NULL); -- without a unique key, so that a second answer would show
CREATE TABLE naive (id bigint PRIMARY KEY);
SELECT backfill.create_pipeline('night', 'SELECT id, at FROM item WHERE at >= $1 AND at < $2');
SELECT backfill.add_batch_step('night', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)', 'INSERT INTO output SELECT unnest($1)');
SQL

my $lost_by_window = 'SELECT count(*) FROM item WHERE id NOT IN (SELECT id FROM naive)';
my $lost = 'SELECT count(*) FROM item WHERE id NOT IN (SELECT id FROM output)';
my $twice = 'SELECT count(*) FROM (SELECT FROM output GROUP BY id HAVING count(*) > 1) o';

sub query { return $node->safe_psql('postgres', $_[0]); }
# What is done at a moment by the server's clock.
sub at_time { return "SET client_min_messages = error; SET backfill.narrate = none; SET backfill.test_clock_seconds = " . query("SELECT extract(epoch FROM '$_[0]'::timestamptz)::bigint") . ';'; }
my $window = 'INSERT INTO naive SELECT id FROM item WHERE at >= backfill._clock() - interval $$24 hours$$ AND at < backfill._clock() ON CONFLICT DO NOTHING;';
sub night { my ($at, $how) = @_; return $node->safe_psql('postgres', at_time($at) . $window . ($how // q{CALL backfill.run('night')})); }
sub arrive { my ($from, $to, $at) = @_; query("INSERT INTO item SELECT n, '$at'::timestamptz + n * interval '1 second' FROM generate_series($from, $to) n"); }
sub is_sound
{
	is(query($lost), '0', "$_[0]: the pipeline has lost nothing");
	is(query($twice), '0', "$_[0]: nothing is there twice");
	is(query(at_time('2026-11-20 00:00+00') . 'SELECT * FROM backfill.check_invariants()'), '', "$_[0]: invariants hold");
}

# Down over two ticks.
arrive(1, 100, '2026-11-02 01:00+00');
night('2026-11-02 06:00+00');
arrive(101, 200, '2026-11-02 10:00+00');
$node->stop;
$node->start;
arrive(201, 300, '2026-11-04 10:00+00');
night('2026-11-05 06:00+00');
is(query($lost_by_window), '100', 'down: a window of 24 hours has lost what came before the night that was missed');
is_sound('down');

# Begins a run that is slow enough to be struck in the middle, and strikes it there.
sub struck
{
	my ($at, $first, $call, $strike) = @_;
	query(q{SELECT backfill.alter_pipeline('night', rate => 200)});
	my ($told, $complaint) = ('', '');
	my $session = IPC::Run::start([ 'psql', '-XAtq', (map { ('-c', $_) } grep { /\S/ } split /;/, at_time($at)), '-c', $call, $node->connstr('postgres') ], '>', \$told, '2>', \$complaint,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM output WHERE id >= $first"), 'the run has begun');
	$strike->();
	$session->finish;
	query(q{SELECT backfill.alter_pipeline('night', rate => 0)});
	query('UPDATE backfill.run SET rate = NULL'); # for who takes it up
	my $half = query("SELECT count(*) FROM output WHERE id >= $first");
	cmp_ok($half, '<', 600, "it was half done: $half");
}
my %strike = (
	'killed session' => sub { query(q{SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE query LIKE 'CALL %' AND pid <> pg_backend_pid()}) },
	'dead server' => sub { $node->stop('immediate'); $node->start });

# Nobody comes back that night, and the next one is missed as well.
my ($end, $day) = (300, 5);
for my $how (sort keys %strike)
{
	my $first = $end + 1;
	$end += 600;
	my $next = sprintf '2026-11-%02d', $day + 1;
	arrive($first, $end, sprintf('2026-11-%02d 10:00+00', $day));
	struck("$next 06:00+00", $first, q{CALL backfill.run('night')}, $strike{$how});
	is(query(q{SELECT state FROM backfill.run ORDER BY run_id DESC LIMIT 1}), 'running', "$how: nobody could say so");
	$day += 3;
	night(sprintf('2026-11-%02d 06:00+00', $day));
	is(query("$lost_by_window AND id >= $first"), '600', "$how: a window of 24 hours has lost them");
	is(query(q{SELECT string_agg(state, ',' ORDER BY run_id) FROM (SELECT run_id, state FROM backfill.run ORDER BY run_id DESC LIMIT 2) r}), 'crashed,succeeded',
		"$how: the run is closed, and the next one did the rest");
	is_sound($how);
}

# A driver dies, and another takes the run up in the same night, where it was.
arrive($end + 1, $end + 600, '2026-11-11 10:00+00');
query(at_time('2026-11-12 06:00+00') . q{SELECT backfill.request_run('night')});
query('UPDATE backfill.run SET rate = 200 WHERE state = $$requested$$');
struck('2026-11-12 06:00+00', $end + 1, q{CALL backfill.run_requested('night')}, $strike{'killed session'});
is(night('2026-11-12 06:05+00', q{CALL backfill.run_requested('night')}), '0', 'driver: within its lease nobody takes it');
is(night('2026-11-12 06:11+00', q{CALL backfill.run_requested('night')}), '1', 'driver: then another does');
is(query('SELECT state, lease_token, candidates, changed, unchanged FROM backfill.run ORDER BY run_id DESC LIMIT 1'), 'succeeded|2|600|600|0', 'driver: and goes on where it was');
is_sound('driver');

# A transaction that was prepared before the run, and outlives a restart.
query(q{BEGIN; INSERT INTO item VALUES (100000, '2026-11-12 07:00+00'); PREPARE TRANSACTION 'outlives'});
night('2026-11-13 06:00+00');
$node->stop('immediate');
$node->start;
night('2026-11-14 06:00+00');
query(q{COMMIT PREPARED 'outlives'});
night('2026-11-15 06:00+00');
is(query("$lost_by_window AND id = 100000"), '1', 'prepared: a window of 24 hours has lost its row');
is_sound('prepared');

$node->stop;
done_testing();
