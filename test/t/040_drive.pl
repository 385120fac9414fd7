# A worker drives what is asked for, as a role that may do nothing else, and does what it is told meanwhile.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Driven;
use Worker;

my $node = driven_node();
my $in_flight = q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'advisory' AND usename = 'driver'};

# Asked for, and done at once, although it is polled for once an hour.
fresh($node, 500);
my $worker = serve($node, config => "poll_seconds = 3600\nnarrate = 'all'\n");
$worker->wait_for('worker_started');
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'driver' AND state = 'idle' AND query LIKE '%claim_run%'});
my $run = request($node);
is(settled($node, $run), 'succeeded', 'a request is heard of');
work_is_done_once($node, $run, 500, 'the first run');
my @steps = $worker->events('step');
is(scalar @steps, 1000, 'a line for each item and step');
is_deeply([ grep { !/^(?:at|level|ms)$/ } sort keys %{ $steps[0] } ], [qw(event item pipeline reason run stage status)], 'what a line has');
my ($ended) = $worker->wait_for('run_ended');
is($ended->{tally}, '500 candidates: 500 changed, 0 unchanged, 0 skipped, 0 failed', 'the tally at the end');
cmp_ok($node->safe_psql('postgres', q{SELECT count(DISTINCT pid) FROM pg_stat_activity WHERE usename = 'driver'}), '>', 0, 'it is still there');

# Nothing to do: the run writes its own row, a few times.
my $xid = $node->safe_psql('postgres', 'SELECT pg_snapshot_xmax(pg_current_snapshot())');
$run = request($node);
is(settled($node, $run), 'succeeded', 'a second pass');
is(run_row($node, $run, 'candidates, changed, unchanged'), '500|0|500', 'a second pass changes nothing');
cmp_ok($node->safe_psql('postgres', "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - $xid"), '<', 10, 'a second pass takes next to no transaction ids');

# Paused, resumed and cancelled while a batch is in flight; the batch is rolled back at once, not at its end.
fresh($node, 500);
my $holder = hold($node, 'id = 250');
$run = request($node);
$node->poll_query_until('postgres', $in_flight);
$node->safe_psql('postgres', "SELECT backfill.pause_run($run)");
$worker->wait_for('run_left', sub { grep { $_->{run} == $run && $_->{state} eq 'paused' } @_ });
is(run_row($node, $run, 'state'), 'paused', 'paused');
$node->poll_query_until('postgres', "SELECT NOT EXISTS ($in_flight HAVING count(*) > 0)");
my $counted = run_row($node, $run, 'changed');
$node->safe_psql('postgres', "SELECT backfill.resume_run($run)");
$node->poll_query_until('postgres', $in_flight);
is($counted > 0 && run_row($node, $run, 'lease_token'), 2, 'resumed by a new claim, with what was done before');
$holder->query_safe('SELECT pg_advisory_unlock(4711)');
is(settled($node, $run), 'succeeded', 'resumed to its end');
work_is_done_once($node, $run, 500, 'paused and resumed');
fresh($node, 500);
$holder->query_safe('SELECT pg_advisory_lock(4711)');
$node->safe_psql('postgres', 'UPDATE item SET held = true'); # so no batch is refused before the worker asks why
$run = request($node);
$node->poll_query_until('postgres', $in_flight =~ s/> 0/= 4/r);
$node->safe_psql('postgres', "SELECT backfill.cancel_run($run)");
$worker->wait_for('run_left', 2);
is(run_row($node, $run, 'state'), 'cancelled', 'cancelled');
is(($worker->events('run_stopping'))[-1]{why}, 'cancelled', 'and the log says so');

# A replay lets a live run pass, and goes on after it.
fresh($node, 500);
$node->safe_psql('postgres', 'UPDATE item SET held = (id = 250)');
my $replay = $node->safe_psql('postgres', q{SELECT run_id FROM backfill.replay('driven', date_trunc('day', now() AT TIME ZONE 'UTC'), date_trunc('day', now() AT TIME ZONE 'UTC') + '1 day')});
$node->poll_query_until('postgres', $in_flight);
my $live = request($node);
$holder->query_safe('SELECT pg_advisory_unlock(4711)');
is(settled($node, $_), 'succeeded', 'a live run and a replay') for $live, $replay;
is(run_row($node, $live, 'changed + unchanged') . '|' . run_row($node, $replay, 'changed + unchanged'), '500|500', 'both saw all items, none was busy');
is($node->safe_psql('postgres', 'SELECT step, count(*), count(DISTINCT id) FROM effect GROUP BY step ORDER BY step'), "first|500|500\nsecond|500|500", 'and did each once');

# A bad item costs itself; a check that writes, and a step that fails for all, end the run.
fresh($node, 300);
$node->safe_psql('postgres', q{CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'poisoned'; END $$;
	CREATE TRIGGER poison BEFORE INSERT ON effect FOR EACH ROW WHEN (new.id % 7 = 0) EXECUTE FUNCTION poison()});
$run = request($node);
is(settled($node, $run), 'succeeded', 'bad items');
is(run_row($node, $run, 'candidates, changed, failed, newly_failed'), '300|258|42|42', 'bad items cost themselves');
is((grep { $_->{status} eq 'failed' } $worker->events('step')) + 0, 42, 'and are told');
fresh($node, 300);
$node->safe_psql('postgres', 'DROP TRIGGER poison ON effect; CREATE TRIGGER poison BEFORE INSERT ON effect FOR EACH ROW EXECUTE FUNCTION poison()');
$run = request($node);
is(settled($node, $run), 'broken', 'all items fail');
like(run_row($node, $run, 'error'), qr/^nearly all items that step "first" works on fail with SQLSTATE P0001$/, 'all items fail: why');
$node->safe_psql('postgres', 'DROP TRIGGER poison ON effect');
is(settled($node, request($node)), 'succeeded', 'mended');
$node->safe_psql('postgres', q{CREATE TABLE written (id bigint);
	CREATE FUNCTION impure(bigint[]) RETURNS SETOF bigint LANGUAGE sql AS 'INSERT INTO written SELECT unnest($1) RETURNING id';
	SELECT backfill.add_batch_step('driven', 'third', lacking => 'SELECT impure($1)', work => 'SELECT count(*) FROM unnest($1)')});
$run = request($node);
is(settled($node, $run), 'broken', 'a check that writes');
like(run_row($node, $run, 'error'), qr/^check of step "third" wrote$/, 'a check that writes: why');
is($node->safe_psql('postgres', "SELECT step, items FROM backfill.run_step_count WHERE run_id = $run AND reason = 'impure'"), 'third|1', 'and it is counted');
$node->safe_psql('postgres', q{SELECT backfill.drop_step('driven', 'third')});
$node->safe_psql('postgres', q{SELECT backfill.alter_pipeline('driven', candidates => 'SELECT CASE WHEN id = 7 THEN NULL ELSE id END, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2')});
$run = request($node);
is(settled($node, $run), 'failed', 'a candidate without a key');
like(run_row($node, $run, 'error'), qr/^candidate query of pipeline "driven" returned a null key$/, 'a candidate without a key: why');
is(run_row($node, $run, 'unchanged'), 299, 'a candidate without a key: the others have their turn');
$node->safe_psql('postgres', q{SELECT backfill.alter_pipeline('driven', candidates => 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2')});

# Asked to stop with work in flight: what is in flight is finished, the rest handed back, and somebody else goes on.
fresh($node, 500);
$holder->query_safe('SELECT pg_advisory_lock(4711)');
$node->safe_psql('postgres', 'UPDATE item SET held = (id = 250)');
$run = request($node);
$node->poll_query_until('postgres', $in_flight);
$worker->signal('TERM');
ok($worker->wait_for('run_stopping', sub { grep { $_->{run} == $run && $_->{why} eq 'program_stops' } @_ }), 'it stops');
is($worker->wait(0.1), undef, 'and waits for what is in flight');
$holder->query_safe('SELECT pg_advisory_unlock(4711)');
is($worker->wait, 0, 'and ends well');
is(run_row($node, $run, 'state'), 'requested', 'the run is handed back');
is($node->safe_psql('postgres', 'SELECT count(*) FROM effect WHERE id = 250'), '2', 'with the batch that was in flight');
$worker = serve($node);
is(settled($node, $run), 'succeeded', 'another worker goes on');
work_is_done_once($node, $run, 500, 'handed over');

# Not for longer than it may, and at once when it is told twice.
for my $case ([ 'too long', 'shutdown_seconds = 0.2', 1, 'requested', 0 ], [ 'told twice', '', 2, 'running', 128 + 15 ])
{
	my ($name, $config, $signals, $state, $code) = @$case;
	is($worker->stop, 0, 'an idle worker stops');
	fresh($node, 500);
	$holder->query_safe('SELECT pg_advisory_lock(4711)');
	$node->safe_psql('postgres', 'UPDATE item SET held = (id = 250)');
	$worker = serve($node, config => $config);
	$run = request($node);
	$node->poll_query_until('postgres', $in_flight);
	$worker->signal('TERM');
	if ($signals == 2)
	{
		$worker->wait_for('run_stopping');
		$worker->signal('TERM');
	}
	is($worker->wait >> 8, $code, "$name: it ends");
	is(run_row($node, $run, 'state'), $state, "$name: the run");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM effect WHERE id = 250'), '0', "$name: the batch is not done");
	$holder->query_safe('SELECT pg_advisory_unlock(4711)');
	expire_leases($node);
	$worker = serve($node, config => "poll_seconds = 0.1\n");
	is(settled($node, $run), 'succeeded', "$name: another worker goes on");
	work_is_done_once($node, $run, 500, $name);
}

# Two workers on one database, many runs: no item twice, no run by two.
my $other = serve($node, config => "poll_seconds = 0.1\n");
fresh($node, 400);
my $slots = $node->safe_psql('postgres', q{UPDATE item SET arrived_at = now() - (id % 8) * interval '1 day';
	SELECT count(*) FROM backfill.replay('driven', date_trunc('day', now() AT TIME ZONE 'UTC') - interval '9 days', date_trunc('day', now() AT TIME ZONE 'UTC') + '1 day')});
$live = request($node);
$node->poll_query_until('postgres', q{SELECT bool_and(state = 'succeeded') FROM backfill.run});
is($node->safe_psql('postgres', q{SELECT sum(changed), max(lease_token) < 30 FROM backfill.run}), '400|t', 'two workers: what they changed');
is($node->safe_psql('postgres', 'SELECT step, count(*), count(DISTINCT id) FROM effect GROUP BY step ORDER BY step'), "first|400|400\nsecond|400|400", 'two workers: each item once');
is($node->safe_psql('postgres', 'SELECT * FROM backfill.check_invariants()'), '', 'two workers: what must hold holds');
is($_->stop, 0, 'a worker stops') for $worker, $other;

# Polling only, for certain pipelines only.
fresh($node, 50);
$worker = serve($node, config => "listen = false\npoll_seconds = 0.1\npipelines = ['other']\n");
$run = request($node);
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'driver' AND query LIKE '%claim_run%'});
$other = serve($node, config => "listen = false\npoll_seconds = 0.1\npipelines = ['driven', 'another']\n");
is(settled($node, $run), 'succeeded', 'polling');
is(scalar $worker->events('run_claimed'), 0, 'not its pipeline');
is(join(' ', map { $_->{pipeline} } map { $_->events('pipeline_unknown') } $worker, $other), 'other another', 'it warns of pipelines that there are not');
is($_->stop, 0, 'a worker stops') for $worker, $other;
$holder->quit;

$node->stop;
done_testing();
