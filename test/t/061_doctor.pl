# The doctor about the whole server: each sickness is found, the statement given mends it, and then the check is well.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_prepared_transactions = 2\ncron.database_name = 'postgres'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_backfill');

# Status and hint of a check's first line.
sub asked
{
	my ($check, $database, $before) = @_;
	return split /\|/, $node->safe_psql($database // 'postgres', ($before // '') . qq{
		SELECT status || '|' || hint FROM backfill.doctor() WHERE "check" = '$check' ORDER BY status, detail LIMIT 1}), 2;
}

sub is_well
{
	my ($check, $name, @more) = @_;
	is((asked($check, @more))[0], 'ok', $name);
}

# Does what the hint says, but for what is left to a person in its comment.
sub mend
{
	my ($hint, $database) = @_;
	unlike($hint, qr/^--/, 'there is a statement that mends it');
	$node->safe_psql($database // 'postgres', $hint);
}

my ($status, $hint) = asked('roles');
is($status, 'warn', 'roles are missing');
mend($hint);
is_well('roles', 'the roles are there');
$node->safe_psql('postgres', 'REVOKE SELECT ON backfill.run FROM backfill_reader');
($status, $hint) = asked('roles');
is($status, 'warn', 'a role without its rights is found');
mend($hint);
is_well('roles', 'the roles have their rights');

is_well('version', 'one release');
$node->safe_psql('postgres', q{UPDATE pg_extension SET extversion = '0.0.9' WHERE extname = 'pg_backfill'});
($status, $hint) = asked('version');
is($status, 'fail', 'an extension that is older than its library is found');
like($hint, qr/^ALTER EXTENSION pg_backfill UPDATE TO '\d/, 'and is to be updated');
$node->safe_psql('postgres', q{UPDATE pg_extension SET extversion = default_version FROM pg_available_extensions a WHERE extname = a.name AND extname = 'pg_backfill'});
is_well('version', 'one release again');

# A clock that is two hours ahead makes old what is new.
my $later = q{SELECT FROM set_config('backfill.test_clock_seconds', (extract(epoch FROM clock_timestamp()) + 7200)::text, false);};
$node->safe_psql('postgres', q{CREATE TABLE t (); BEGIN; INSERT INTO t DEFAULT VALUES; PREPARE TRANSACTION E'it''s \\\\ old\\nand -- older'});
is_well('old_transactions', 'a young prepared transaction is nothing to worry about');
($status, $hint) = asked('old_transactions', 'postgres', $later);
is($status, 'warn', 'an old one is');
mend($hint);
is_well('old_transactions', 'it is gone', 'postgres', $later);
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('BEGIN; SELECT 1');
($status, $hint) = asked('old_transactions', 'postgres', $later);
is($status, 'warn', 'a session with an old transaction is found');
mend($hint);
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE state = 'idle in transaction'}) or die 'the session stays';
is_well('old_transactions', 'it is gone', 'postgres', $later);
eval { $session->quit };

# What holds a watermark back is to be ended only while it is that very transaction.
$node->safe_psql('postgres', q{CREATE TABLE item (id bigint PRIMARY KEY, at timestamptz);
	SELECT backfill.create_pipeline('held', 'SELECT id, at FROM item WHERE at >= $1 AND at < $2');
	SELECT backfill.add_step('held', 'make', 'SELECT $1 > 0', 'SELECT $1')});
sub run_later { $node->safe_psql('postgres', "SET client_min_messages = error; $later CALL backfill.run('held')"); }
sub held_hint { return (asked('watermark', 'postgres', $later))[1] // ''; }
$session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_safe('BEGIN; SELECT 1');
run_later();
is(held_hint(), "SELECT pg_terminate_backend($pid);", 'an old transaction holds the watermark, and is to be ended');
# As if the one that held it had begun an hour earlier, and this were its session's next.
$node->safe_psql('postgres', q{UPDATE backfill.run SET run_time = run_time - interval '1 hour'});
is(held_hint(), q{CALL backfill.run('held');}, 'not when its session has another one');
$node->safe_psql('postgres', q{UPDATE backfill.run SET run_time = run_time + interval '1 hour'});
$session->query_safe('COMMIT');
is(held_hint(), q{CALL backfill.run('held');}, 'and not when it has none');
$session->query_safe('SET track_activities = off; BEGIN; SELECT 1');
run_later();
like(held_hint(), qr/^SELECT \* FROM pg_stat_activity WHERE pid = $pid;/, 'one whose age is not known is to be looked at');
$session->quit;
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid") or die 'the session stays';
is(held_hint(), q{CALL backfill.run('held');}, 'and not when its session is gone');
$node->safe_psql('postgres', q{BEGIN; INSERT INTO t DEFAULT VALUES; PREPARE TRANSACTION E'it''s \\\\ of\\nand -- older'});
run_later();
mend(held_hint());
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), '0', 'the prepared transaction is gone');
is(held_hint(), q{CALL backfill.run('held');}, 'and nothing is to be rolled back');
run_later();
is_well('watermark', 'the watermark moves', 'postgres', $later);
$node->safe_psql('postgres', q{SELECT backfill.drop_pipeline('held')});

$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->reload;
$node->poll_query_until('postgres', q{SELECT current_setting('autovacuum') = 'off'}) or die 'no reload';
($status, $hint) = asked('settings');
is($status, 'fail', 'autovacuum is off');
# Two statements, of which the first cannot be in a transaction with another.
$node->safe_psql('postgres', $_) for split /(?<=;) /, $hint;
$node->poll_query_until('postgres', q{SELECT current_setting('autovacuum') = 'on'}) or die 'no reload';
is_well('settings', 'it is on');

SKIP: {
	my $pkglibdir = (run_command([ 'pg_config', '--pkglibdir' ]))[0];
	skip 'pg_cron is not installed', 1 unless -e "$pkglibdir/pg_cron.so";
	($status, $hint) = asked('pg_cron');
	is($status, 'warn', 'pg_cron is not loaded');
	mend($hint);
	$node->restart;
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_cron launcher'}) or die 'no launcher';
	($status, $hint) = asked('pg_cron');
	is($status, 'warn', 'it is loaded and not created');
	mend($hint);
	is_well('pg_cron', 'it is there');

	$node->safe_psql('postgres', 'CREATE DATABASE elsewhere');
	$node->safe_psql('elsewhere', 'CREATE EXTENSION pg_backfill');
	($status, $hint) = asked('pg_cron', 'elsewhere');
	is($status, 'warn', 'from another database its jobs cannot be seen');
	like($hint, qr/in database postgres: SELECT cron\.schedule_in_database/, 'but made');

	my $job = $node->safe_psql('postgres', q{SELECT cron.schedule('nightly', '0 6 * * *', $$CALL backfill.run('leads')$$)});
	$node->safe_psql('postgres', "SELECT cron.alter_job($job, active := false)");
	($status, $hint) = asked('pg_cron');
	is($status, 'warn', 'a job is not active');
	mend($hint);
	is_well('pg_cron', 'it is active');
	$node->safe_psql('postgres', "INSERT INTO cron.job_run_details (jobid, runid, status, return_message, end_time) VALUES ($job, 1, 'failed', 'connection failed', now())");
	($status, $hint) = asked('pg_cron');
	is($status, 'fail', 'its last run failed');
	mend($hint);
	like($node->safe_psql('postgres', q{SELECT setting FROM pg_file_settings WHERE name = 'cron.use_background_workers'}), qr/on/, 'pg_cron connects without a password after a restart');
	$node->safe_psql('postgres', "INSERT INTO cron.job_run_details (jobid, runid, status, end_time) VALUES ($job, 2, 'succeeded', now())");
	is_well('pg_cron', 'the next run succeeded');
}

is($node->safe_psql('postgres', 'SELECT count(*) FROM backfill.check_invariants()'), '0', 'everything holds');
$node->stop;
done_testing();
