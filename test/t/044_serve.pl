# What serve shows of itself: over HTTP, to systemd; and the sample configuration.
use strict;
use warnings FATAL => 'all';
use HTTP::Tiny;
use IO::Socket::INET;
use IO::Socket::UNIX;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use Driven;
use Worker;

my $node = driven_node();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $socket = PostgreSQL::Test::Utils::tempdir_short() . '/notify';
my $systemd = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $socket) or die "$socket: $!";

sub notified
{
	my ($enough) = @_;
	my $all = '';
	while ($all !~ $enough)
	{
		my $ready = '';
		vec($ready, fileno($systemd), 1) = 1;
		select($ready, undef, undef, $PostgreSQL::Test::Utils::timeout_default) or die "nothing more than: $all";
		$systemd->recv(my $text, 4096);
		$all .= "$text\n";
	}
	return $all;
}
sub get { return HTTP::Tiny->new->get("http://127.0.0.1:$port$_[0]"); }

# Until the server's log has it so many times.
sub wait_for_server_log
{
	my ($server, $what, $times) = @_;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if (() = slurp_file($server->logfile) =~ /$what/g) >= $times;
		usleep(100_000);
	}
	die "the server's log does not have $what $times times";
}

# The metrics, once they have this.
sub metrics_with
{
	my ($enough) = @_;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my $metrics = get('/metrics')->{content};
		return $metrics if $metrics =~ $enough;
		usleep(100_000);
	}
	die "the metrics do not have $enough";
}

my $worker = serve($node, config => "poll_seconds = 0.2\n[http]\nlisten = '127.0.0.1:$port'\n", environment => { NOTIFY_SOCKET => $socket });
like(notified(qr/READY=1/), qr/READY=1/, 'systemd is told that it is ready');
like(notified(qr/WATCHDOG=1\n.*WATCHDOG=1\n/s), qr/WATCHDOG=1/, 'the watchdog is fed');
is(get('/healthz')->{content}, "ok\n", 'it lives');
is(get('/readyz')->{status}, 200, 'it is ready');
is(get('/elsewhere')->{status}, 404, 'there is nothing else');

fresh($node, 120);
is(settled($node, request($node)), 'succeeded', 'a run');
$worker->wait_for('run_ended');
my $metrics = metrics_with(qr/^pg_backfill_runs_total\{pipeline="driven",state="succeeded"\} 1$/m);
pass('runs are counted');
like($metrics, qr/^pg_backfill_items_total\{pipeline="driven",result="changed"\} 120$/m, 'items are counted');
like($metrics, qr/^# TYPE pg_backfill_items_total counter$/m, 'metrics have a type');
like($metrics, qr/^pg_backfill_database_up 1$/m, 'the database is up');

# Items that are found done are unchanged, between those that are not and behind them.
$node->safe_psql('postgres', 'UPDATE item SET version = 2 WHERE id <= 60 AND id % 2 = 0');
is(settled($node, request($node)), 'succeeded', 'a run over what is done, mostly');
$metrics = metrics_with(qr/^pg_backfill_runs_total\{pipeline="driven",state="succeeded"\} 2$/m);
like($metrics, qr/^pg_backfill_items_total\{pipeline="driven",result="changed"\} 150$/m, 'those that were not are changed');
like($metrics, qr/^pg_backfill_items_total\{pipeline="driven",result="unchanged"\} 90$/m, 'items found done are counted');

# Without the database it lives and is not ready, and the watchdog goes hungry.
$node->stop;
notified(qr/STATUS=cannot reach its database/);
$worker->wait_for('database_unreachable', 2);
is(get('/healthz')->{status}, 200, 'without the database it lives');
is(get('/readyz')->{status}, 503, 'without the database it is not ready');
like(get('/metrics')->{content}, qr/^pg_backfill_database_up 0$/m, 'the database is down');
$node->start;
unlike(notified(qr/READY=1/), qr/WATCHDOG=1.*READY=1/s, 'the watchdog was not fed meanwhile');

# A taken port is an error that says so.
my ($code, $out, $err) = worker('serve', '-d', $node->connstr('postgres'), '-c', "$worker->{config}");
is($code, 2, 'a port that is taken');
like($err, qr/cannot listen at 127\.0\.0\.1:$port\nHINT: /, 'a port that is taken: why');
is($worker->stop, 0, 'it stops');
like(notified(qr/STOPPING=1/), qr/STOPPING=1/, 'and systemd is told');

# What waits in the database, which nobody need deliver: a channel that this worker has not, and one that is not bound.
$node->safe_psql('postgres', q{
	CREATE TABLE told (id bigint PRIMARY KEY);
	SELECT backfill.create_pipeline('teller', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
	SELECT backfill.add_step('teller', 'tell', 'SELECT EXISTS (SELECT FROM told t WHERE t.id = $1)',
		$$ WITH made AS (INSERT INTO told VALUES ($1)) SELECT backfill.emit(CASE WHEN $1 < 3 THEN 'slack:#' ELSE 'file:' END || $1, 'made', '{}') $$)});
fresh($node, 4);
$node->safe_psql('postgres', q{CALL backfill.run('teller')});
$node->safe_psql('postgres', q{SELECT backfill.mark_failed(array_agg(message_id), min(token), 'http_400', permanent => true)
	FROM backfill.claim_deliveries('slack', 1, '1 minute', bound_to => backfill.database_identity())});
$worker = serve($node, config => "[http]\nlisten = '127.0.0.1:$port'\n[delivery]\nbinding_file = '/nowhere/binding'\n[channel.file]\nkind = 'file'\ndirectory = '/nowhere'\n");
$metrics = metrics_with(qr/^pg_backfill_outbox_messages\{/m);
like($metrics, qr/^pg_backfill_outbox_messages\{channel="$_->[0]",state="$_->[1]"\} $_->[2]$/m, "messages of $_->[0], $_->[1]")
	for [ 'slack', 'pending', 1 ], [ 'slack', 'dead', 1 ], [ 'file', 'pending', 2 ], [ 'file', 'unknown', 0 ];
like($metrics, qr/^# HELP pg_backfill_outbox_messages .*\n# TYPE pg_backfill_outbox_messages gauge$/m, 'and what that is');
is($worker->stop, 0, 'and stops');
$node->safe_psql('postgres', q{SELECT backfill.drop_pipeline('teller')});

# Without deliveries it goes on.
$worker = serve($node, config => "[delivery]\nenabled = false\n");
$worker->wait_for('worker_started');
fresh($node, 10);
is(settled($node, request($node)), 'succeeded', 'a worker that does not deliver drives');
is($worker->stop, 0, 'and stops');

# The wrong role: the log and who started it are told which it takes.
$node->safe_psql('postgres', 'CREATE ROLE nobody_in_particular LOGIN');
$worker = serve($node, target => $node->connstr('postgres') . ' user=nobody_in_particular');
is($worker->wait >> 8, 1, 'a role that may not drive');
my $refused = qr/permission denied for \w+ \w+\nHINT: .*backfill_worker serves/;
like(($worker->events('service_failed'))[0]{error}, $refused, 'the log says what is lacking');
like($worker->text('log'), qr/^pg_backfill: $refused/m, 'and so does the last word');

# May drive and not deliver: said once, and it goes on as soon as it may.
my $folder = PostgreSQL::Test::Utils::tempdir();
PostgreSQL::Test::Utils::append_to_file("$folder/binding", $node->safe_psql('postgres', 'SELECT backfill.database_identity()') . "\n");
$node->safe_psql('postgres', 'REVOKE EXECUTE ON FUNCTION backfill.claim_deliveries FROM backfill_worker');
$worker = serve($node, config => "[delivery]\nbinding_file = '$folder/binding'\nrescan_seconds = 0.05\n[channel.disk]\nkind = 'file'\ndirectory = '$folder'\n");
$worker->wait_for('delivery_interrupted');
wait_for_server_log($node, qr/permission denied for function claim_deliveries/, 3);
fresh($node, 10);
is(settled($node, request($node)), 'succeeded', 'a worker that may not deliver drives');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION backfill.claim_deliveries TO backfill_worker');
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'driver' AND state = 'idle' AND query LIKE '%claim_deliveries%'}) or die;
my @interrupted = $worker->events('delivery_interrupted');
is(scalar @interrupted, 1, 'it says once that it may not deliver');
like($interrupted[0]{error}, $refused, 'and what is lacking');
is($worker->stop, 0, 'and stops');

# Every key of the sample is known, and every known key is in it.
my $sample = PostgreSQL::Test::Utils::slurp_file("$ENV{TESTDIR}/worker/pg_backfill.toml");
my %in_sample = map { $_ => 1 } $sample =~ /^# (\w+) = /mg;
(my $active = $sample) =~ s/^# (\w+ = )/$1/mg;
$active =~ s/127\.0\.0\.1:9187/127.0.0.1:$port/;
$active =~ s/"bt_leads"/"driven"/;
my $file = PostgreSQL::Test::Utils::tempdir() . '/sample.toml';
PostgreSQL::Test::Utils::append_to_file($file, $active);
$worker = Worker->start({}, 'serve', '-c', $file, '--log-format', 'json', '-d', $node->connstr('postgres') . ' user=driver');
$worker->wait_for('worker_started');
fresh($node, 10);
is(settled($node, request($node)), 'succeeded', 'the sample with all of its keys');
is($worker->stop, 0, 'the sample: it stops');
for my $key (qw(connections pipelines listen poll_seconds lease_seconds shutdown_seconds narrate progress_seconds max_replica_lag_seconds max_lock_wait_seconds))
{
	ok(delete $in_sample{$key}, "$key is in the sample");
}
for my $wrong ('[worker]
connection = 4', '[worker]
connections = 0', '[worker]
narrate = "some"', '[http]
listen = "9187"', '[worker]
listen = "yes"', '[wroker]')
{
	my $bad = PostgreSQL::Test::Utils::tempdir() . '/bad.toml';
	PostgreSQL::Test::Utils::append_to_file($bad, $wrong);
	($code, $out, $err) = worker('serve', '-c', $bad, '-d', $node->connstr('postgres'));
	is($code, 2, "refused: $wrong");
	like($err, qr/\Q$bad\E:\d: \S+ (?:has to be|is not)/, "refused, with the place: $wrong");
}

$node->stop;
done_testing();
