# Random lives of messages; PROPERTY_SCHEDULES and PROPERTY_SEED ask for more, or for others.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $schedules = $ENV{PROPERTY_SCHEDULES} // 2000;
my $seed = $ENV{PROPERTY_SEED} // 0.42;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_backfill');

my ($out, $err) = ('', '');
my $ended = IPC::Run::run([ 'psql', '-X', '-v', "schedules=$schedules", '-v', "seed=$seed", '-f', "$ENV{TESTDIR}/test/property/outbox.sql", $node->connstr('postgres') ],
	'>', \$out, '2>', \$err);
ok($ended, "$schedules random lives of messages, seed $seed") or diag($err);

# A driver that lost one of its moves would prove less than it says.
for my $move ('live', 'replay', 'replay, opted in', 'rehearsal', 'claim', 'clock', 'work: sent', 'work: crash', 'work: crash unsent', 'work: retry', 'work: dead',
	'work: unknown', 'work: release', 'work: inert', 'work: heartbeat', 'late: sent', 'late: retry', 'person: requeue', 'person: discard',
	'person: resend', 'person: resolve sent', 'person: resolve not sent', 'person: refused')
{
	my ($times) = $out =~ /^\Q$move\E: (\d+)$/m;
	cmp_ok($times // 0, '>', 0, "there was $move");
}

$node->stop;
done_testing();
