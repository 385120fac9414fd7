# What a role or a database sets for its sessions does not spoil a worker's work; nor does a server that refuses for a while.
use strict;
use warnings FATAL => 'all';
use Driven;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Worker;

my $node = driven_node();

# The isolation level of the claims, how an array of nulls is read, and the encoding of what is sent.
$node->safe_psql('postgres', q{
	ALTER ROLE driver SET default_transaction_isolation = 'serializable';
	ALTER ROLE driver SET array_nulls = off;
	ALTER ROLE driver SET client_encoding = 'LATIN1';
	CREATE TABLE word (word text PRIMARY KEY);
	INSERT INTO word VALUES ('Zo' || chr(235)), ('caf' || chr(233));
	CREATE TABLE seen (word text);
	SELECT backfill.create_pipeline('words', 'SELECT word FROM word WHERE $1 < $2', 'text');
	SELECT backfill.add_batch_step('words', 'see', 'SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM seen s WHERE s.word = k)',
		'INSERT INTO seen SELECT k FROM unnest($1) k')});
fresh($node, 200);
my $narrated = "narrate = 'all'\n";
my @workers = map { serve($node, config => $narrated) } 1, 2;
my $run = request($node);
is(settled($node, $run), 'succeeded', 'another isolation level');
work_is_done_once($node, $run, 200, 'another isolation level');
my $words = $node->safe_psql('postgres', q{SELECT backfill.request_run('words')});
is(settled($node, $words), 'succeeded', 'another encoding, and items without a time');
is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT word) FROM seen'), '2|2', 'each is done once');
is(join(' ', sort map { $_->{item} } grep { $_->{run} == $words } map { $_->events('step') } @workers), "Zo\x{eb} caf\x{e9}", 'the log names them in UTF-8');
is($_->stop, 0, 'a worker stops') for @workers;
$node->safe_psql('postgres', 'ALTER ROLE driver RESET ALL');

# The server refuses what it did before, as one that is read-only for a while.
my $worker = serve($node, config => "poll_seconds = 0.1\n");
$run = request($node);
is(settled($node, $run), 'succeeded', 'it drives');
$node->safe_psql('postgres', q{ALTER ROLE driver SET default_transaction_read_only = on;
	SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE usename = 'driver'});
$worker->wait_for('database_refuses');
$run = request($node);
$node->safe_psql('postgres', 'ALTER ROLE driver RESET default_transaction_read_only');
is(settled($node, $run), 'succeeded', 'it goes on when it may');
is($worker->stop, 0, 'it stops');

# One that it never served for: it says so, and ends.
$node->safe_psql('postgres', 'ALTER ROLE driver SET default_transaction_read_only = on');
$worker = serve($node);
is($worker->wait >> 8, 1, 'refused from the first moment on');
like($worker->text('log'), qr/read-only transaction/, 'it says why');
$node->safe_psql('postgres', 'ALTER ROLE driver RESET ALL');

# A batch that takes longer than a statement may is done in parts, which have the time that they need, since a timeout comes
# once a statement. A sequence shows a try that is rolled back; while the slow item is alone at work it waits for this test.
fresh($node, 20);
$node->safe_psql('postgres', q{
	CREATE SEQUENCE tries;
	GRANT USAGE ON SEQUENCE tries TO PUBLIC;
	SELECT backfill.add_batch_step('driven', 'slow',
		lacking => 'SELECT k FROM unnest($1) k WHERE k IN (7, 8) AND NOT EXISTS (SELECT FROM output o WHERE o.step = ''slow'' AND o.id = k)',
		work => 'WITH waited AS MATERIALIZED (SELECT k, CASE k WHEN 7 THEN nextval(''tries'') END, CASE k WHEN 7 THEN pg_advisory_xact_lock_shared(4711)::text END FROM unnest($1) k)
			INSERT INTO output SELECT ''slow'', k, 1 FROM waited');
	ALTER ROLE driver SET statement_timeout = '300ms'});
my $holder = hold($node, 'false');
$worker = serve($node);
$run = request($node);
$node->poll_query_until('postgres', 'SELECT last_value >= 2 FROM tries') or die 'not tried again';
$holder->query_safe('SELECT pg_advisory_unlock(4711)');
is(settled($node, $run), 'succeeded', 'slower than statement_timeout');
is(run_row($node, $run, 'changed, failed'), '20|0', 'slower than statement_timeout: all is done');
# Alone from the beginning, it fails, as any poisoned item, and the others are done.
$holder->query_safe('SELECT pg_advisory_lock(4711)');
$node->safe_psql('postgres', q{DELETE FROM output WHERE step = 'slow' AND id = 7; DELETE FROM output WHERE step = 'second' AND id = 9});
$run = request($node);
is(settled($node, $run), 'succeeded', 'alone, and slower than statement_timeout');
is(run_row($node, $run, 'changed, failed'), '1|1', 'alone, and slower than statement_timeout: it fails, and the others do not');
is($worker->stop, 0, 'the worker stops');
# A timeout where nothing can be done in parts is a failure with a hint, and not somebody's cancel.
$node->safe_psql('postgres', q{SELECT backfill.drop_step('driven', 'slow');
	SELECT backfill.alter_pipeline('driven', candidates => 'SELECT id, arrived_at FROM item, pg_advisory_xact_lock_shared(4711) WHERE arrived_at >= $1 AND arrived_at < $2')});
fresh($node, 5);
$worker = serve($node);
$run = request($node);
is(settled($node, $run), 'failed', 'a candidate query that takes too long');
like(run_row($node, $run, 'sqlstate, error'), qr/^53400\|statement_timeout is shorter than a statement of the run took\nHINT: .*ALTER ROLE/, 'what to do');
is($worker->stop, 0, 'the worker stops');
$holder->quit;
is($node->safe_psql('postgres', 'SELECT * FROM backfill.check_invariants()'), '', 'what must hold holds');

# A worker that does not deliver drives all the same.
$node->safe_psql('postgres', q{ALTER ROLE driver RESET ALL;
	SELECT backfill.alter_pipeline('driven', candidates => 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2')});
fresh($node, 5);
$worker = serve($node, config => "[delivery]\nenabled = false\n");
is(settled($node, request($node)), 'succeeded', 'without delivery');
is($worker->stop, 0, 'it stops when it is told to');
$node->stop;
done_testing();
