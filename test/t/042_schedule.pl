# pg_cron ticks: it asks for a run, a worker drives it, the leads move, and Slack gets one message. The next tick is silent.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use HTTP::Tiny;
use MIME::Base64;
use Receiver;
use Test::More;
use Worker;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_cron'\ncron.database_name = 'postgres'\ncron.use_background_workers = on\nmax_worker_processes = 20");
$node->start;
$node->safe_psql('postgres', q{CREATE DATABASE other});
for my $database (qw(postgres other))
{
	$node->safe_psql($database, q{CREATE EXTENSION bt_leads CASCADE; SELECT backfill.create_roles(); SELECT bt.install_pipeline(summary_to => 'slack:#lending-ops')});
}
$node->safe_psql('postgres', q{CREATE ROLE driver LOGIN IN ROLE backfill_worker; CREATE ROLE operator LOGIN IN ROLE backfill_operator});

sub psql
{
	my ($database, $sql, $user) = @_;
	my ($code, $out, $err) = $node->psql($database, $sql, extra_params => [ '--set', 'SHOW_CONTEXT=never', $user ? ('-U', $user) : () ]);
	return ($out, $err);
}
my ($out, $err);

# pg_cron is loaded, and not created here.
($out, $err) = psql('postgres', q{SELECT backfill.schedule('bt_leads', '* * * * *')});
like($err, qr/ERROR:  pg_cron is loaded, but not created in this database\nHINT:  Run CREATE EXTENSION pg_cron here/, 'what is missing');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_cron');

# In its own database; as an operator, who needs a right of pg_cron's.
($out, $err) = psql('postgres', q{SELECT backfill.schedule('bt_leads', '0 6 * * *')}, 'operator');
my $lacks = qr/ERROR:  permission denied for schema cron\nHINT:  Run GRANT USAGE ON SCHEMA cron TO operator as a superuser/;
like($err, $lacks, 'what right is missing');
like((psql('postgres', q{SELECT backfill.unschedule('bt_leads')}, 'operator'))[1], $lacks, 'also for taking it back');
$node->safe_psql('postgres', 'GRANT USAGE ON SCHEMA cron TO operator');
($out, $err) = psql('postgres', q{SELECT backfill.schedule('bt_leads', '0 6 * * *'); SELECT backfill.schedule('bt_leads', '* * * * *')}, 'operator');
like($err, qr/NOTICE:  pipeline "bt_leads" is scheduled now, by job 1 of role operator\nDETAIL:  pg_cron reads 0 6 \* \* \* in GMT, and ticks next at \d{4}-\d\d-\d\d 11:30 Asia\/Kolkata\.\n/, 'an operator schedules, and is told what that means');
unlike($err, qr/ERROR/, 'and changes it');
is($node->safe_psql('postgres', 'SELECT jobname, schedule, command, username, database FROM cron.job'),
	q{backfill: bt_leads|* * * * *|SELECT backfill.request_run('bt_leads')|operator|postgres}, 'one job, whose schedule was changed, and that only asks');
like((psql('postgres', q{SELECT backfill.schedule('bt_leads', 'at dawn')}, 'operator'))[1], qr/ERROR:  invalid schedule: at dawn\nHINT:  Give minute, hour, day of the month/, 'a schedule that pg_cron does not read');
like((psql('postgres', q{SELECT backfill.schedule('no_leads', '* * * * *')}, 'operator'))[1], qr/pipeline "no_leads" does not exist/, 'a pipeline that is not there');
like((psql('postgres', q{SELECT backfill.schedule('bt_leads', '* * * * *')}, 'driver'))[1], qr/permission denied for function schedule/, 'not everybody schedules');

# A job's name belongs to its role: another one's is not made beside it.
$node->safe_psql('postgres', q{CREATE ROLE colleague LOGIN IN ROLE backfill_operator; GRANT USAGE ON SCHEMA cron TO colleague});
($out, $err) = psql('postgres', q{SELECT backfill.schedule('bt_leads', '0 7 * * *')}, 'colleague');
like($err, qr/ERROR:  pipeline "bt_leads" is scheduled already, by job 1 of role operator\nHINT:  .*as operator or as a superuser: SELECT cron\.unschedule\(1\)\./, 'somebody else has scheduled it');
($out, $err) = psql('postgres', q{SELECT backfill.unschedule('bt_leads') IS NULL}, 'colleague');
is($out, 't', 'and only he ends it');
like($err, qr/NOTICE:  pipeline "bt_leads" was not scheduled by role colleague, and still is by others\nHINT:  .* can end job 1 of role operator: SELECT cron\.unschedule\(1\)\./, 'or who may');
is($node->safe_psql('postgres', q{SELECT cron FROM backfill.pipeline_status}), 'scheduled', 'one job');
my $second = $node->safe_psql('postgres', q{SELECT cron.schedule('mine', '0 5 * * *', $$CALL backfill.run('bt_leads')$$)}, extra_params => [ '-U', 'colleague' ]);
is($node->safe_psql('postgres', q{SELECT cron, schedule FROM backfill.pipeline_status}), "scheduled by 2 jobs: 1 of operator, $second of colleague|* * * * *; 0 5 * * *", 'two jobs are seen');
is($node->safe_psql('postgres', q{SELECT detail, hint FROM backfill.doctor() WHERE "check" = 'pg_cron' AND status = 'warn'}),
	"Pipeline bt_leads is scheduled by 2 roles: job 1 of operator, job $second of colleague.|SELECT cron.unschedule($second); -- as colleague or a superuser", 'and the doctor says how to end one');
is($node->safe_psql('postgres', "SELECT cron.unschedule($second)"), 't', 'a superuser ends any');

# What there is not cannot be ended, but what a dropped pipeline has left can.
($out, $err) = psql('postgres', q{SELECT backfill.unschedule('no_leads')}, 'operator');
like($err, qr/ERROR:  pipeline "no_leads" does not exist/, 'no such pipeline');
$node->safe_psql('postgres', q{SELECT backfill.create_pipeline('gone', 'SELECT 1::bigint, now() WHERE $1 < $2')});
($out, $err) = psql('postgres', q{SELECT backfill.unschedule('gone') IS NULL}, 'operator');
is($out, 't', 'one that was never scheduled');
like($err, qr/NOTICE:  pipeline "gone" was not scheduled/, 'is not said to be ended');
psql('postgres', q{SELECT backfill.schedule('gone', '@daily')}, 'operator');
$node->safe_psql('postgres', q{SELECT backfill.drop_pipeline('gone')});
is((psql('postgres', q{SELECT backfill.unschedule('gone')}, 'operator'))[0], q{SELECT cron.unschedule('backfill: gone')}, 'what is left of one that was dropped');
is($node->safe_psql('postgres', q{SELECT count(*) FROM cron.job}), '1', 'is ended');

# In another database of the cluster it says exactly what to run, and that is right.
($out, $err) = psql('other', q{SELECT backfill.schedule('bt_leads', '0 6 * * *')});
is($out, q{SELECT cron.schedule_in_database('backfill: bt_leads (other)', '0 6 * * *', 'SELECT backfill.request_run(''bt_leads'')', 'other')}, 'the statement');
like($err, qr/NOTICE:  pg_cron lives in database "postgres"; run this there: SELECT.*\nHINT:  pg_cron reads 0 6 \* \* \* in GMT, and ticks next at \d{4}-\d\d-\d\d 11:30 Asia\/Kolkata\./, 'and where to run it');
like((psql('other', q{SELECT backfill.unschedule('no_leads')}))[1], qr/pipeline "no_leads" does not exist/, 'no such pipeline there');
$node->safe_psql('postgres', $out);
is($node->safe_psql('postgres', q{SELECT database FROM cron.job WHERE jobname = 'backfill: bt_leads (other)'}), 'other', 'it is right');
($out) = psql('other', q{SELECT backfill.unschedule('bt_leads')});
$node->safe_psql('postgres', $out);
is($node->safe_psql('postgres', q{SELECT count(*) FROM cron.job}), '1', 'and so is the one that takes it back');

# A lead and its report; a worker. Nobody else does anything.
my @there = ('-d', $node->connstr('postgres'));
is((worker('load-reports', @there, '--with-leads', 'test/data/reports/s01_baseline.json'))[0], 0, 'a report arrives');
is($node->safe_psql('postgres', 'SELECT status FROM bt.lead'), 'initiated', 'its lead');
my $slack = Receiver->http;
my $folder = PostgreSQL::Test::Utils::tempdir();
my $port = PostgreSQL::Test::Cluster::get_free_port();
append_to_file("$folder/hook", $slack->url('/services/T0/B0/hook') . "\n");
append_to_file("$folder/worker.toml", <<"TOML");
[http]
listen = "127.0.0.1:$port"
[delivery]
binding_file = "$folder/binding"
poll_seconds = 0.1
[channel.slack]
kind = "slack"
secret_file = "$folder/hook"
allow_private = true
allow_plain = true
TOML
my @as_worker = ('-c', "$folder/worker.toml", '-d', $node->connstr('postgres') . ' user=driver');
is((worker('bind', @as_worker))[0], 0, 'the worker is bound to this database');
my $worker = Worker->start({}, 'serve', '--log-format', 'json', @as_worker);
$worker->wait_for('worker_started');
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM backfill.run WHERE state = 'succeeded' AND changed > 0}) or die 'no tick';
is($node->safe_psql('postgres', 'SELECT status FROM bt.lead'), 'options_ready', 'a tick, and the lead has moved');
is($node->safe_psql('postgres', q{SELECT mode, requested_by, candidates, changed FROM backfill.run}), 'live|operator|1|1', 'by the run that pg_cron asked for');
my $messages = q{SELECT message_type, channel, state FROM backfill.outbox WHERE recipient LIKE 'slack:%'};
my ($request) = $slack->wait_for(sub { @_ > 0 });
is($request->{path}, '/services/T0/B0/hook', 'Slack is told');
like(decode_base64($request->{body_base64}), qr/"text":"bt_leads, \d{4}-\d\d-\d\d: 1 changed, 0 failed of 1"/, 'what it is told');
$node->poll_query_until('postgres', q{SELECT state = 'sent' FROM backfill.outbox WHERE recipient LIKE 'slack:%'}) or die 'not sent';
is($node->safe_psql('postgres', $messages), 'run_summary_1|slack|sent', 'one message for Slack');
$node->poll_query_until('postgres', q{SELECT count(*) FILTER (WHERE state = 'succeeded') > 1 FROM backfill.run}) or die 'no other tick';
is($node->safe_psql('postgres', q{SELECT changed, failed FROM backfill.run ORDER BY run_id OFFSET 1 LIMIT 1}), '0|0', 'the next tick changes nothing');
is($node->safe_psql('postgres', $messages), 'run_summary_1|slack|sent', 'and is silent');
my ($metrics, $both) = ('', qr/^pg_backfill_runs_total\{pipeline="bt_leads",state="succeeded"\} 2$/m);
for (1 .. 1000)
{
	$metrics = HTTP::Tiny->new->get("http://127.0.0.1:$port/metrics")->{content};
	last if $metrics =~ $both;
}
like($metrics, $both, 'it counts both runs');
like($metrics, qr/^pg_backfill_deliveries_total\{channel="slack",status="sent"\} 1$/m, 'and one delivery');

($out, $err) = psql('postgres', q{SELECT backfill.unschedule('bt_leads'); SELECT backfill.unschedule('bt_leads')}, 'operator');
like($err, qr{^psql:<stdin>:1: NOTICE:  pipeline "bt_leads" was not scheduled$}, 'unscheduled; the second time there is nothing to end');
is($node->safe_psql('postgres', q{SELECT count(*) FROM cron.job}), '0', 'no job is left');
is($node->safe_psql('postgres', 'SELECT * FROM backfill.check_invariants()'), '', 'what must hold holds');
is($worker->stop, 0, 'the worker stops, with all it does at once');
# What was pending would have been sent while it stopped.
is(scalar($slack->requests), 1, 'Slack got one message in all');
$slack->stop;

# Without pg_cron.
$node->safe_psql('postgres', 'DROP EXTENSION pg_cron');
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
($out, $err) = psql('other', q{SELECT backfill.schedule('bt_leads', '0 6 * * *')});
like($err, qr/ERROR:  pg_cron is not there\nHINT:  Install the package postgresql-15-cron .*systemd timer.*pg_backfill run/, 'without pg_cron: the alternatives');

$node->stop;
done_testing();
