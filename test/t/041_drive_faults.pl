# A worker that dies at any point, a server that does, and connections that are cut: another goes on where it was, nothing is
# done twice, and the tally adds up.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Driven;
use Receiver;
use Worker;

my $node = driven_node(conf => "restart_after_crash = on\n");
my $quick = "poll_seconds = 0.1\nconnections = 3\n";
my $items = 200;

# SIGKILL at each point between claim and end, some of them more than once.
for my $point (qw(after_claim before_heartbeat after_heartbeat after_candidates before_batch after_batch after_batch:4 before_finish after_finish))
{
	fresh($node, $items);
	my $worker = serve($node, config => $quick, environment => { PG_BACKFILL_FAILPOINT => $point });
	my $run = request($node);
	is($worker->wait, 9, "$point: killed");
	my $left = run_row($node, $run, 'state');
	is($left, $point eq 'after_finish' ? 'succeeded' : 'running', "$point: the run it left");
	expire_leases($node);
	my $next = serve($node, config => $quick);
	is(settled($node, $run), 'succeeded', "$point: another worker takes it over");
	work_is_done_once($node, $run, $items, $point);
	is(($next->events('run_claimed'))[0]{taken_over}, 1, "$point: and says so") if $left eq 'running';
	$next->stop;
}

# The same while it hands back.
for my $point (qw(before_release after_release))
{
	fresh($node, $items);
	my $holder = hold($node, 'id = 100');
	my $worker = serve($node, config => $quick, environment => { PG_BACKFILL_FAILPOINT => $point });
	my $run = request($node);
	$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'});
	$worker->signal('TERM');
	$worker->wait_for('run_stopping');
	$holder->quit;
	is($worker->wait, 9, "$point: killed");
	is(run_row($node, $run, 'state'), $point eq 'before_release' ? 'running' : 'requested', "$point: the run it left");
	expire_leases($node);
	my $next = serve($node, config => $quick);
	is(settled($node, $run), 'succeeded', "$point: another worker goes on");
	work_is_done_once($node, $run, $items, $point);
	$next->stop;
}

# Killed while batches are under way: the server finishes what it began, and whoever takes over waits for that.
{
	fresh($node, $items);
	my $holder = hold($node, 'id IN (20, 120)');
	my $worker = serve($node, config => $quick);
	my $run = request($node);
	$node->poll_query_until('postgres', q{SELECT count(*) = 2 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'});
	$worker->signal('KILL');
	is($worker->wait, 9, 'in flight: killed');
	expire_leases($node);
	my $next = serve($node, config => $quick);
	$next->wait_for('worker_started');
	$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%claim_run%' AND state = 'idle'});
	is(run_row($node, $run, 'lease_token'), 1, 'in flight: not taken over while its batches are under way');
	$holder->quit;
	is(settled($node, $run), 'succeeded', 'in flight: then taken over');
	work_is_done_once($node, $run, $items, 'in flight');
	$next->stop;
}

# A lease that lapses by itself; the stale holder wakes up and is refused.
{
	fresh($node, $items);
	my $holder = hold($node, 'id = 100');
	my $worker = serve($node, config => $quick);
	my $run = request($node);
	$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'});
	$worker->signal('STOP');
	expire_leases($node);
	# Its batch goes on in the server, and has to end first.
	$holder->quit;
	my $next = serve($node, config => $quick);
	is(settled($node, $run), 'succeeded', 'stale: taken over');
	$worker->signal('CONT');
	($worker->wait_for('run_left'));
	work_is_done_once($node, $run, $items, 'stale');
	is($_->stop, 0, 'stale: a worker stops') for $worker, $next;
}

# The server dies and comes back while a run is driven.
for my $how (qw(immediate fast))
{
	fresh($node, $items);
	my $holder = hold($node, 'id = 100');
	my $worker = serve($node, config => $quick);
	my $run = request($node);
	$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'});
	$node->stop($how);
	$holder->quit;
	$worker->wait_for('database_unreachable', 2);
	$node->start;
	is(settled($node, $run), 'succeeded', "server, $how: the worker goes on by itself");
	work_is_done_once($node, $run, $items, "server, $how");
	is(run_row($node, $run, 'lease_token > 1'), 't', "server, $how: with a new claim");
	is($worker->stop, 0, "server, $how: the worker stops");
}

# A connection is cut before a statement arrives, and after it is committed and before the worker knows.
my $proxy = Receiver->start('proxy.py', '--target', $node->host . '/.s.PGSQL.' . $node->port);
for my $rule ('before run_batch 2', 'after run_batch 2', 'before check_batch 1', 'after check_batch 1', 'before run_candidates 1', 'after run_candidates 1',
	'before heartbeat_run 1', 'after heartbeat_run 1', 'before finish_run 1', 'after finish_run 1', 'before claim_run 3', 'after claim_run 3')
{
	fresh($node, $items);
	my $file = "$proxy->{record}.rule";
	unlink $file;
	my $worker = serve($node, config => $quick, target => 'host=127.0.0.1 port=' . $proxy->port . ' dbname=postgres user=driver');
	$worker->wait_for('worker_started');
	PostgreSQL::Test::Utils::append_to_file($file, $rule);
	my $cuts = () = $proxy->requests;
	my $run = request($node);
	$proxy->wait_for(sub { @_ > $cuts });
	# A claim that was made and not heard of is nobody's until its lease has passed.
	if ($rule =~ /after claim_run/)
	{
		$worker->wait_for('database_unreachable');
		expire_leases($node);
	}
	is(settled($node, $run), 'succeeded', "cut $rule: the worker goes on by itself");
	work_is_done_once($node, $run, $items, "cut $rule");
	is($worker->stop, 0, "cut $rule: the worker stops");
	unlink $file;
}
$proxy->stop;

$node->stop;
done_testing();
