# run, replay and rehearse as a person and a script meet them: what they print, in each format, how far they say they are,
# and their exit codes.
use strict;
use warnings FATAL => 'all';
use IPC::Run ();
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Driven;
use Worker;

my $node = driven_node();
@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
my %operator = (PGUSER => 'operator');
my ($code, $out, $err);
sub query { return $node->safe_psql("postgres", $_[0]); }
sub foreground { local @ENV{ keys %operator } = values %operator; return worker(@_); }
my $config = PostgreSQL::Test::Utils::tempdir() . '/foreground.toml';
append_to_file($config, "[worker]\nconnections = 2\nprogress_seconds = 0.1\n");
my $program = $ENV{PG_BACKFILL} // 'pg_backfill';
my $held = q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'};

# A run, its tally, and a second one.
fresh($node, 100);
($code, $out, $err) = foreground('run', 'driven');
is($code, 0, 'a run');
like($out, qr/^driven run \d+ succeeded: 100 candidates: 100 changed, 0 unchanged, 0 skipped, 0 failed\n\z/, 'its tally, and nothing else');
like($err, qr/^\{"at":"[^"]+","level":"info","event":"run_claimed",/, 'what happens is told apart');
($code, $out) = foreground('run', 'driven');
is("$code $out", (query('SELECT max(run_id) FROM backfill.run') =~ s/^/0 driven run /r) . " succeeded: 100 candidates: 0 changed, 100 unchanged, 0 skipped, 0 failed\n", 'again: nothing to do');
($code, $out) = foreground('run', 'driven', '-o', 'json');
my $rows = decode_json($out);
is_deeply([ map { ref $_ ? scalar @$_ : $_ } @{ $rows->[0] }{qw(pipeline mode state candidates changed unchanged failed error step_counts)} ],
	[ 'driven', 'live', 'succeeded', 100, 0, 100, 0, undef, 2 ], 'as JSON');
($code, $out) = foreground('-o', 'csv', 'run', 'driven');
like($out, qr/^run_id,pipeline,mode,state,.*\r\n\d+,driven,live,succeeded,.*,100,0,100,0,0,0,"\[/s, 'as CSV');

# What goes wrong.
query(q{UPDATE item SET version = 2; CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'poisoned'; END $$;
	CREATE TRIGGER poison BEFORE INSERT ON effect FOR EACH ROW WHEN (new.id = 7) EXECUTE FUNCTION poison()});
($code, $out) = foreground('run', 'driven');
is($code, 1, 'an item fails');
like($out, qr/succeeded: 100 candidates: 99 changed, 0 unchanged, 0 skipped, 1 failed/, 'an item fails: the tally');
query('DROP TRIGGER poison ON effect');
($code, $out, $err) = foreground('run', 'nobody');
is($code, 2, 'no such pipeline');
like($err, qr/pipeline "nobody" does not exist/, 'no such pipeline: said so');
is((foreground(@$_))[0], 2, "usage: @$_") for [ 'run' ], [ 'replay', 'driven', '--from', '2026-01-01' ], [ 'rehearse', 'driven', '--to', '2026-01-01' ],
	[ 'replay', 'driven', '--from', '2026-01-01', '--to', '2026-01-02', '--redo', 'some' ], [ 'run', 'driven', '-o', 'xml' ];
{
	local $ENV{PGPORT} = PostgreSQL::Test::Cluster::get_free_port();
	($code, $out, $err) = foreground('run', 'driven');
	is("$code $out", '3 ', 'no server');
}

# A rehearsal leaves nothing.
fresh($node, 20);
query(q{SELECT backfill.alter_pipeline('driven', delivery_max_age => '2 days');
	SELECT backfill.add_batch_step('driven', 'tell', 'SELECT i.id FROM item i WHERE i.id = ANY ($1) AND i.id <= 3 AND NOT EXISTS (SELECT FROM output o WHERE o.step = $$tell$$ AND o.id = i.id)',
		'WITH told AS (INSERT INTO output SELECT $$tell$$, unnest($1)) SELECT backfill.emit($$webhook:$$ || id, $$made$$, $${"secret": "s3cret"}$$, $$webhook$$, id::text) FROM item WHERE id = ANY ($1)')});
($code, $out) = foreground('rehearse', 'driven', '-o', 'csv');
is($code, 0, 'rehearse');
like($out, qr/^message,webhook made,send,new,3\r$/m, 'rehearse: what it would send') or diag $out;
like((foreground('rehearse', 'driven', '--messages', '-o', 'json'))[1], qr/"recipient":"webhook:1".*s3cret/, 'rehearse: the messages themselves');
is(query('SELECT (SELECT count(*) FROM output), (SELECT count(*) FROM backfill.run), (SELECT count(*) FROM backfill.message)'), '0|0|0', 'rehearse: nothing stays');

# A replay is silent; what it would send is said before it sends.
my @days = map { query("SELECT to_char(now() AT TIME ZONE 'UTC' + interval '$_ days', 'YYYY-MM-DD')") } -1, 1;
my @range = ('--from', $days[0], '--to', $days[1]);
($code, $out, $err) = foreground('replay', 'driven', @range);
is($code, 0, 'a replay');
like($out, qr/^driven run \d+ succeeded: 0 candidates: .*\ndriven run \d+ succeeded: 20 candidates: 20 changed,.*\n\z/, 'a line for each slot, oldest first');
is(query('SELECT state, count(*) FROM backfill.outbox GROUP BY state'), 'suppressed|3', 'it is silent');
unlike($err, qr/will send/, 'and says nothing of sending');
query('DELETE FROM output');
($code, $out, $err) = foreground('replay', 'driven', @range, '--deliver', '-o', 'json');
is($code, 0, 'a replay that sends');
like($err, qr/^this replay will send 3 messages\n/, 'it says first how many');
is(scalar @{ decode_json($out) }, 2, 'as JSON: one list of all its runs');
is(query('SELECT state, count(*) FROM backfill.outbox GROUP BY state'), 'pending|3', 'they are to be sent');
query('DELETE FROM output');
($code, $out, $err) = foreground('replay', 'driven', @range, '--deliver');
like($err, qr/^this replay will send 0 messages\n/, 'nothing is sent twice');
is($code, 0, 'and nothing was suppressed');
# With the keys of old messages went the right to tell anything for their windows.
query(q{DELETE FROM output; DELETE FROM backfill.undelivered; DELETE FROM backfill.delivery; DELETE FROM backfill.emission; DELETE FROM backfill.message;
	SELECT backfill.set_retention('driven', details => '20 days', history => '30 days'); UPDATE backfill.retention SET messages_before = date_trunc('day', now()) - interval '5 days';
	UPDATE item SET arrived_at = now() - interval '9 days'});
@range = map { query("SELECT to_char(now() AT TIME ZONE 'UTC' - interval '$_ days', 'YYYY-MM-DD')") } 9, 8;
($code, $out, $err) = foreground('replay', 'driven', '--from', $range[0], '--to', $range[1], '--deliver');
like($err, qr/^this replay will send 0 messages\n/, 'what is older than what is kept: it says so');
is(query('SELECT state, reason, count(*) FROM backfill.outbox GROUP BY state, reason'), 'suppressed|purged|3', 'nobody knows what was sent');
is($code, 5, 'sending was asked for, and all was suppressed');
query('DELETE FROM backfill.delivery; DELETE FROM backfill.emission; DELETE FROM backfill.message');
query(q{SELECT backfill.drop_step('driven', 'tell')});

# How far it is: lines for a program, a bar on a terminal.
fresh($node, 100);
my $holder = hold($node, 'id = 50');
my $worker = Worker->start(\%operator, '-c', $config, 'run', 'driven');
$node->poll_query_until('postgres', $held);
my ($progress) = ($worker->wait_for('progress', sub { @_ && $_[-1]{done} > 0 }))[-1];
is_deeply([ @$progress{qw(pipeline candidates failed)}, $progress->{done} < 100 ], [ 'driven', 100, 0, 1 ], 'a line says how far it is');
ok(exists $progress->{$_}, "... with $_") for qw(items_per_second skipped_share seconds_left);
# Ctrl-C hands it back, and says so.
$worker->signal('INT');
$worker->wait_for('run_stopping');
$holder->query_safe('SELECT pg_advisory_unlock(4711)');
is($worker->wait >> 8, 1, 'interrupted');
like($worker->text('out'), qr/^driven run \d+ requested: 100 candidates: \d+ changed,/, 'interrupted: how far it was') or diag $worker->text('log');
like($worker->text('log'), qr/^HINT:  It goes on where it is when a worker serves/m, 'interrupted: what then');
query(q{SELECT backfill.cancel_run(run_id) FROM backfill.run WHERE state = 'requested'});

fresh($node, 100);
$holder->query_safe('SELECT pg_advisory_lock(4711)');
query('UPDATE item SET held = (id = 50)');
my ($screen, $nothing) = ('', '');
my $terminal = IPC::Run::start([ $program, 'run', 'driven', '-d', 'user=operator' ], '<pty<', \$nothing, '>pty>', \$screen, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
$terminal->pump until $screen =~ m{\rdriven run \d+ \[#+\.+\] [1-9]\d?/100 \d+/s \d+% skipped[^\n]*\e\[K|\rdriven run \d+ \[#+\.+\] [1-9]\d?/100 };
$holder->query_safe('SELECT pg_advisory_unlock(4711)');
$terminal->finish;
is($terminal->full_result(0), 0, 'on a terminal');
like($screen, qr/\r\e\[Kdriven run \d+ succeeded: 100 candidates: 100 changed, 0 unchanged, 0 skipped, 0 failed\r?\n\z/, 'the bar makes way for the tally');
unlike($screen, qr/run_claimed|step/, 'and no line is between');

# Somebody else is at it: it waits, and goes on when they leave.
fresh($node, 30);
my $other = query(q{SELECT backfill.request_run('driven')});
my $token = query(q{SELECT token FROM backfill.claim_run(lease => '1 hour')});
$worker = Worker->start(\%operator, 'run', 'driven');
$worker->wait_for('waiting');
query("SELECT FROM backfill.finish_run($other, $token, 'cancelled')");
is($worker->wait, 0, 'it waits for others, and has its turn');
like($worker->text('out'), qr/succeeded: 30 candidates: 30 changed/, 'and does it');
$holder->quit;

is(query('SELECT * FROM backfill.check_invariants()'), '', 'what must hold holds');
$node->stop;
done_testing();
