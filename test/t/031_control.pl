# A run that goes on minds what people say meanwhile: a rate, the largest batch, a pause, a cancel. Runs that wait do so
# for a hundred seconds an item, so that a test which does not mind fails by its time-out.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pg_backfill;
CREATE TABLE item (id bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now() - interval '1 hour');
CREATE TABLE output (id bigint PRIMARY KEY, batch xid8 NOT NULL);
INSERT INTO item SELECT generate_series(1, 40);
SELECT backfill.create_pipeline('slow', 'SELECT id, at FROM item WHERE at >= $1 AND at < $2', rate => 0.01);
SELECT backfill.add_batch_step('slow', 'make', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.id = k)',
	'INSERT INTO output SELECT k, pg_current_xact_id() FROM unnest($1) k');
SQL

# A session that works on runs while others watch.
sub begin
{
	my ($sql) = @_;
	my %session = (out => '', err => '');
	$session{psql} = IPC::Run::start([ 'psql', '-XAtq', '-c', 'SET backfill.narrate = none', '-c', $sql, $node->connstr('postgres') ],
		'>', \$session{out}, '2>', \$session{err}, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return \%session;
}
sub ends
{
	my ($session) = @_;
	$session->{psql}->finish;
	return $session->{out} . $session->{err};
}
sub query { return $node->safe_psql('postgres', $_[0]); }
sub is_so { my ($sql, $what) = @_; ok($node->poll_query_until('postgres', $sql), $what); }
sub is_sound { is(query('SELECT * FROM backfill.check_invariants()'), '', "$_[0]: invariants hold"); }
sub again { query('DELETE FROM backfill.run; TRUNCATE output'); }
my $last = '(SELECT max(run_id) FROM backfill.run)';

# One item, and then a wait that holds nothing: no snapshot, no transaction id, no lock.
my $session = begin(q{CALL backfill.run('slow')});
is_so('SELECT count(*) = 1 FROM output', 'one item is done');
is_so(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CALL backfill.run%' AND wait_event = 'Extension' AND backend_xid IS NULL AND backend_xmin IS NULL},
	'the run waits, and holds no snapshot');
is(query(q{SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.query LIKE 'CALL backfill.run%' AND l.locktype = 'advisory'}), '0', 'nor a lock');
is(query('SELECT candidates, done, remaining, rate, work_share, eta > now() AND eta = eta_latest FROM backfill.run_progress'), '40|1|39|0.01|1|t',
	'it says how far it is');
is(query('SELECT round(extract(epoch FROM eta - counted_at) / 100) FROM backfill.run_progress'), '39', 'and that it will take a hundred seconds an item');
# A new rate ends the wait that the old one caused. The batch cannot be larger than is wished.
query("SELECT backfill.set_batch($last, 13), backfill.set_rate($last, NULL)");
like(ends($session), qr/40 candidates: 40 changed, 0 unchanged, 0 skipped, 0 failed/, 'without a rate it ends at once');
is(query('SELECT string_agg(items::text, $$,$$ ORDER BY first) FROM (SELECT min(id) AS first, count(*) AS items FROM output GROUP BY batch) b'), '1,13,13,13',
	'in batches as large as it may');
is_sound('rate');

# A rate in between is kept: 40 items at 20 a second take two batches, a second apart.
again();
query(q{SELECT backfill.alter_pipeline('slow', rate => 20)});
$session = begin(q{CALL backfill.run('slow')});
like(ends($session), qr/40 changed/, 'a run at a rate');
is(query('SELECT string_agg(items::text, $$,$$ ORDER BY first) FROM (SELECT min(id) AS first, count(*) AS items FROM output GROUP BY batch) b'), '20,20', 'in shares of a second');
cmp_ok(query('SELECT extract(epoch FROM finished_at - started_at) FROM backfill.run'), '>=', 1, 'keeps it');
query(q{SELECT backfill.alter_pipeline('slow', rate => 0.01)});

# Items that are found done are not slowed down.
query('DELETE FROM backfill.run; DELETE FROM output WHERE id = 40');
$session = begin(q{CALL backfill.run('slow')});
like(ends($session), qr/40 candidates: 1 changed, 39 unchanged/, 'what is done already does not count');

# Paused while it waits, and driven on from there by another session.
again();
$session = begin(q{CALL backfill.run('slow')});
is_so('SELECT count(*) = 1 FROM output', 'one item is done');
query("SELECT backfill.pause_run($last)");
like(ends($session), qr/was paused or ended by somebody else/, 'paused while it waits, it stops');
is(query('SELECT state, changed, resume_after FROM backfill.run'), 'paused|1|1', 'where it was');
query("SELECT backfill.set_rate($last, NULL), backfill.resume_run($last)");
is(query(q{CALL backfill.run_requested('slow')}), '1', 'resumed');
is(query('SELECT state, candidates, changed, unchanged FROM backfill.run'), 'succeeded|40|40|0', 'it goes on behind that');
is_sound('pause');

# Cancelled while it waits, by its row and by its session.
again();
$session = begin(q{CALL backfill.run('slow')});
is_so('SELECT count(*) = 1 FROM output', 'one item is done');
query("SELECT backfill.cancel_run($last)");
like(ends($session), qr/was paused or ended by somebody else/, 'cancelled while it waits, it stops');
is(query('SELECT state, candidates, changed FROM backfill.run'), 'cancelled|40|1', 'and keeps what it did');
$session = begin(q{CALL backfill.run('slow')});
is_so('SELECT count(*) = 2 FROM output', 'another run does one more item');
is_so(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CALL backfill.run%' AND wait_event = 'Extension'}, 'and waits');
query(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL backfill.run%' AND pid <> pg_backend_pid()});
like(ends($session), qr/canceling statement due to user request/, 'a cancelled session stops waiting');
is(query("SELECT state, changed FROM backfill.run WHERE run_id = $last"), 'cancelled|1', 'and says so');
is_sound('cancel');

# Terminated while it waits: its lease ends it, by the clock of the next one.
query(q{SELECT backfill.request_run('slow')});
$session = begin(q{CALL backfill.run_requested('slow')});
is_so('SELECT count(*) = 3 FROM output', 'a requested run does one more item');
query(q{SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE query LIKE 'CALL backfill.run%' AND pid <> pg_backend_pid()});
ends($session);
is(query(q{CALL backfill.run_requested('slow')}), '0', 'its run is not free as long as its lease holds');
my $later = q{SELECT set_config('backfill.test_clock_seconds', extract(epoch FROM clock_timestamp() + interval '11 minutes')::text, false) IS NOT NULL};
query("SELECT backfill.set_rate($last, NULL)");
is(query("$later; CALL backfill.run_requested('slow')"), "t\n1", 'then it is taken up');
is(query("SELECT state, lease_token, candidates, changed, unchanged FROM backfill.run WHERE run_id = $last"), 'succeeded|2|40|38|2', 'where it was');
is_sound('crash');

$node->stop;
done_testing();
