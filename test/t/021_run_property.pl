# Random lives of pipelines, in two databases at once; PROPERTY_SCHEDULES and PROPERTY_SEED ask for more, or for others.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $schedules = $ENV{PROPERTY_SCHEDULES} // 2000;
my $seed = $ENV{PROPERTY_SEED} // 0.42;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off");
$node->start;

my @lives = map { { database => "lives_$_", schedules => int(($schedules + $_) / 2), seed => $_ ? -$seed : $seed, out => '', err => '' } } (0, 1);
for my $life (@lives)
{
	$node->safe_psql('postgres', "CREATE DATABASE $life->{database}");
	$node->safe_psql($life->{database}, 'CREATE EXTENSION pg_backfill');
	$life->{psql} = IPC::Run::start([ 'psql', '-X', '-v', "schedules=$life->{schedules}", '-v', "seed=$life->{seed}", '-f', "$ENV{TESTDIR}/test/property/run.sql",
		$node->connstr($life->{database}) ], '>', \$life->{out}, '2>', \$life->{err});
}
my %times;
for my $life (@lives)
{
	ok($life->{psql}->finish, "$life->{schedules} random lives of a pipeline, seed $life->{seed}")
	  or diag($life->{err}, $node->safe_psql($life->{database}, 'SELECT what FROM property.move ORDER BY n'));
	$times{$1} += $2 while $life->{out} =~ /^(\D.*): (\d+)$/mg;
}

# A driver that lost one of its moves would prove less than it says.
for my $move ('live', 'request', 'replay', 'replay, opted in', 'drive', 'session dies', 'rehearsal', 'rehearsal, then the run', 'claim', 'clock',
	'data: arrives', 'data: changes', 'data: turns', 'person: pause a run', 'person: resume a run', 'person: cancel a run', 'person: requeue', 'person: discard',
	'person: resend', 'person: resolve sent', 'work: sent', 'work: crash', 'work: retry', 'work: dead', 'work: unknown', 'work: inert', 'late: sent')
{
	cmp_ok($times{$move} // 0, '>', 0, "there was $move");
}

$node->stop;
done_testing();
