# pipeline_status says where pg_cron is, and what it has of a pipeline, in a cluster that has the real one.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_cron'\ncron.database_name = 'jobs'\nfsync = off");
$node->start;

sub status
{
	my ($database) = @_;
	return $node->safe_psql($database, q{SELECT concat_ws('|', cron, schedule, to_char(next_tick AT TIME ZONE 'GMT', 'HH24:MI'), last_tick_status) FROM backfill.pipeline_status});
}

for my $database ('jobs', 'other')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, q{CREATE EXTENSION pg_backfill;
		SELECT backfill.create_pipeline('nightly', 'SELECT 1::bigint, now() WHERE $1 < $2'), backfill.create_pipeline('nightly2', 'SELECT 1::bigint, now() WHERE $1 < $2'),
			backfill.drop_pipeline('nightly2')});
}
is(status('other'), 'pg_cron is in database jobs', 'in another database');
is(status('jobs'), 'pg_cron is not created', 'loaded, and not created');

# Anybody may make what looks like pg_cron's table; whoever looks on as its owner must not run what it calls.
$node->safe_psql('jobs', q{SELECT backfill.create_roles(); CREATE ROLE intruder LOGIN IN ROLE backfill_reader; GRANT CREATE ON DATABASE jobs TO intruder;
	SET ROLE intruder; CREATE SCHEMA cron; CREATE TABLE cron.ran_as (who name);
	CREATE FUNCTION cron.trap() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN INSERT INTO cron.ran_as VALUES (current_user); RETURN 1; END $$;
	CREATE VIEW cron.job AS SELECT cron.trap() AS jobid, '* * * * *' AS schedule, 'backfill.run(''nightly'')' AS command, current_database() AS database, false AS active;
	CREATE VIEW cron.job_run_details AS SELECT cron.trap() AS jobid, cron.trap() AS runid, 'failed' AS status, now() AS start_time, now() AS end_time, '' AS return_message});
is($node->safe_psql('jobs', q{SET ROLE intruder; SELECT cron FROM backfill.pipeline_status}), 'pg_cron is not created', 'a table of somebody else is not pg_cron\'s: status');
like($node->safe_psql('jobs', q{SET ROLE intruder; SELECT detail FROM backfill.doctor() WHERE "check" = 'pg_cron'}), qr/pg_cron is loaded and has no tables in this database/, 'nor for the doctor');
is($node->safe_psql('jobs', 'SELECT * FROM cron.ran_as'), '', 'nobody has run what it calls');
$node->safe_psql('jobs', 'DROP SCHEMA cron CASCADE');
$node->safe_psql('jobs', 'CREATE EXTENSION pg_cron');
is(status('jobs'), 'not scheduled', 'no job');
$node->safe_psql('jobs', q{SELECT cron.schedule('other', '0 5 * * *', $$CALL backfill.run('nightly2')$$), cron.schedule('vacuum', '0 5 * * *', 'VACUUM')});
is(status('jobs'), 'not scheduled', 'jobs of others');
$node->safe_psql('jobs', q{SELECT cron.schedule('nightly', '30 6 * * *', $$SELECT backfill.request_run('nightly')$$)});
is(status('jobs'), 'scheduled|30 6 * * *|06:30', 'a job that asks for a run, in GMT whatever the session has');
is($node->safe_psql('jobs', q{SET timezone = 'Asia/Kolkata'; SET backfill.test_clock_seconds = 1793620800; SELECT next_tick = '2026-11-03 06:30+00' FROM backfill.pipeline_status}),
	't', 'the next tick is tomorrow when today\'s has passed');

# Two ticks, as pg_cron records them.
$node->safe_psql('jobs', q{INSERT INTO cron.job_run_details (jobid, runid, database, username, command, status, start_time)
	SELECT jobid, n, database, username, command, CASE n WHEN 1 THEN 'succeeded' ELSE 'failed' END, '2026-11-01 06:30+00'::timestamptz + n * interval '1 day'
	FROM cron.job, generate_series(1, 2) n WHERE jobname = 'nightly'});
is(status('jobs'), 'scheduled|30 6 * * *|06:30|failed', 'how its last tick ended');
# pg_cron ticked and nothing started: found without a history, once it had its time.
sub overdue
{
	my ($at) = @_;
	return $node->safe_psql('jobs', "SET client_min_messages = error; SET backfill.test_clock_seconds = ".$at."; SELECT alarm FROM backfill.check_health('nightly')");
}
is(overdue(1793687400 + 3000), '', 'fifty minutes after the tick its run may still come');
is(overdue(1793687400 + 3660), 'no run has come that should have come by 2026-11-03 07:30', 'an hour after it, it is overdue');
$node->safe_psql('jobs', q{SET client_min_messages = error; SET backfill.test_clock_seconds = 1793695000; SELECT backfill.add_step('nightly', 'none', 'SELECT $1 > 0', 'SELECT $1')});
$node->safe_psql('jobs', q{SET client_min_messages = error; SET backfill.test_clock_seconds = 1793695000; CALL backfill.run('nightly')});
is(overdue(1793695000 + 3600), '', 'a run closes it');
$node->safe_psql('jobs', q{SELECT cron.alter_job(jobid, active => false) FROM cron.job WHERE jobname = 'nightly'});
is(status('jobs'), 'switched off|30 6 * * *|failed', 'switched off');

# A dashboard may not read pg_cron's tables, and sees the pipeline's row all the same.
$node->safe_psql('jobs', q{CREATE ROLE dashboard LOGIN IN ROLE pg_monitor});
is($node->safe_psql('jobs', 'SET ROLE dashboard; SELECT cron FROM backfill.pipeline_status'), 'switched off', 'a member of pg_monitor');
is($node->safe_psql('jobs', 'SELECT count(*) FROM backfill.check_invariants()'), '0', 'all invariants hold');

$node->stop;
done_testing();
