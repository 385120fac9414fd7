# A worker minds what people say of a run while it drives it: a rate, the largest batch, a pause, a cancel. Runs that wait do
# so for a hundred seconds an item, so that a worker which does not mind fails by a time-out. And it leaves a run alone that
# kills each of its holders, and keeps house.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Driven;
use Worker;

my $node = driven_node();
my $config = "poll_seconds = 0.1\nconnections = 3\n";
my $worker = serve($node, config => $config);
$worker->wait_for('worker_started');
sub query { return $node->safe_psql('postgres', $_[0]); }
sub is_so { my ($sql, $what) = @_; ok($node->poll_query_until('postgres', $sql), $what); return; }
my $one_done = q{SELECT count(*) = 1 FROM effect WHERE step = 'second'};

# One item, by the pipeline's rate, before anybody has asked whether there is one.
query(q{SELECT backfill.alter_pipeline('driven', rate => 0.01)});
fresh($node, 40);
my $run = request($node);
is_so($one_done, 'one item is done');
is_so('SELECT work_share = 1 AND eta > now() AND eta = eta_latest FROM backfill.run_progress', 'it says when it will be done');
is(query('SELECT candidates, done, remaining, rate, round(extract(epoch FROM eta - counted_at) / 100) FROM backfill.run_progress'), '40|1|39|0.01|39',
	'which is in a hundred seconds an item');
is(query(q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'driver' AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)}), '0', 'and holds nothing meanwhile');
# A new rate ends the wait that the old one caused, for all sessions; no batch is larger than is wished then.
query("SELECT backfill.set_batch($run, 13), backfill.set_rate($run, NULL)");
is(settled($node, $run), 'succeeded', 'without a rate it ends at once');
is(query(q{SELECT max(items) FROM (SELECT count(*) AS items FROM effect WHERE step = 'second' GROUP BY xmin::text) b}), '13', 'in batches as large as it may');
work_is_done_once($node, $run, 40, 'rate');

# Paused while it waits; the one who resumes it goes on from there.
fresh($node, 40);
$run = request($node);
is_so($one_done, 'one item is done');
query("SELECT backfill.pause_run($run)");
$worker->wait_for('run_left', sub { grep { $_->{run} == $run && $_->{state} eq 'paused' } @_ });
is(run_row($node, $run, 'state, changed'), 'paused|1', 'paused while it waits');
query("SELECT backfill.set_rate($run, NULL), backfill.resume_run($run)");
is(settled($node, $run), 'succeeded', 'resumed');
work_is_done_once($node, $run, 40, 'paused');

# Cancelled while it waits.
fresh($node, 40);
$run = request($node);
is_so($one_done, 'one item is done');
query("SELECT backfill.cancel_run($run)");
$worker->wait_for('run_left', sub { grep { $_->{run} == $run && $_->{state} eq 'cancelled' } @_ });
is(run_row($node, $run, 'state, changed'), 'cancelled|1', 'cancelled while it waits: it keeps what it did');

# Asked to stop while it waits.
fresh($node, 40);
$run = request($node);
is_so($one_done, 'one item is done');
is($worker->stop, 0, 'stopped while it waits');
is(run_row($node, $run, 'state, changed'), 'requested|1', 'and handed back');
query("SELECT backfill.set_rate($run, NULL); SELECT backfill.alter_pipeline('driven', rate => 0)");

# After a live run it purges: what was handed back is driven to its end, and a run of long ago goes.
my $old = query(q{INSERT INTO backfill.run (run_id, pipeline_id, mode, state, window_from, window_to, scan_from, scan_to, run_time, requested_by, requested_at, finished_at)
	SELECT 0, pipeline_id, 'live', 'cancelled', t, t + interval '1 day', t, t, t, 'me', t, t FROM backfill.pipeline, (SELECT now() - interval '500 days') m (t) RETURNING run_id});
$worker = serve($node, config => $config);
is(settled($node, $run), 'succeeded', 'another worker goes on');
is_so("SELECT NOT EXISTS (SELECT FROM backfill.run WHERE run_id = $old)", 'and purges what is old');
work_is_done_once($node, $run, 40, 'stopped');
is(scalar $worker->events('house_not_kept'), 0, 'without trouble');
is($worker->stop, 0, 'the worker stops');

# What kills five holders gets no sixth; the next run does what it left.
fresh($node, 40);
$run = request($node);
for my $holder (1 .. 5)
{
	$worker = serve($node, config => $config, environment => { PG_BACKFILL_FAILPOINT => 'before_batch' });
	is($worker->wait, 9, "holder $holder dies");
	is(run_row($node, $run, 'state, lease_token'), "running|$holder", 'and was one more');
	expire_leases($node);
}
$worker = serve($node, config => $config);
is(settled($node, $run), 'crashed', 'there is no sixth');
my $next = request($node);
is(settled($node, $next), 'succeeded', 'the next run is driven');
work_is_done_once($node, $next, 40, 'crashed');
is((grep { $_->{run} == $run } $worker->events('run_claimed')) + 0, 0, 'the other was left alone');
is($worker->stop, 0, 'the worker stops');

$node->stop;
done_testing();
