# A worker that polls works through a pooler that gives each transaction another session.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Driven;
use Worker;

my ($pooler) = grep { -x } '/usr/sbin/pgbouncer', '/usr/bin/pgbouncer';
plan skip_all => 'pgbouncer is not there' unless $pooler;

# DateStyle of the database: one that gives times away which are read differently.
my $node = driven_node();
$node->safe_psql('postgres', q{ALTER DATABASE postgres SET DateStyle = 'SQL, DMY'; ALTER DATABASE postgres SET TimeZone = 'Asia/Kolkata'});
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $host = $node->host;
my $server_port = $node->port;
PostgreSQL::Test::Utils::append_to_file("$dir/users.txt", qq{"driver" ""\n});
PostgreSQL::Test::Utils::append_to_file("$dir/pgbouncer.ini", <<"INI");
[databases]
postgres = host=$host port=$server_port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = trust
auth_file = $dir/users.txt
pool_mode = transaction
default_pool_size = 2
INI
# Few sessions, and a worker that wants more.
my $pid = fork() // die "fork: $!";
exec($pooler, '-q', "$dir/pgbouncer.ini") if $pid == 0;
my $target = "host=127.0.0.1 port=$port dbname=postgres user=driver";
my $connected = 0;
for (1 .. 100)
{
	IPC::Run::run [ 'psql', '-XAtqc', 'SELECT 1', $target ], '>', \my $out, '2>', \my $err;
	last if $connected = $out eq "1\n";
	Time::HiRes::usleep(100_000);
}
ok($connected, 'the pooler is there');

fresh($node, 600);
my $worker = serve($node, target => $target, config => "listen = false\npoll_seconds = 0.1\nconnections = 4\n");
my $run = request($node);
is(settled($node, $run), 'succeeded', 'a run through the pooler');
work_is_done_once($node, $run, 600, 'through the pooler');
is($node->safe_psql('postgres', q{SELECT count(DISTINCT pid) <= 2 FROM pg_stat_activity WHERE usename = 'driver'}), 't', 'by two sessions at most');
is($worker->stop, 0, 'the worker stops');

# A role whose defaults are not what a worker needs: it goes by its own, and leaves nothing of them to whoever shares its
# sessions. As many sessions as there can be are looked at.
$node->safe_psql('postgres', q{ALTER ROLE driver SET default_transaction_isolation = 'serializable'; ALTER ROLE driver SET array_nulls = off;
	SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE usename = 'driver'});
fresh($node, 300);
$worker = serve($node, target => $target, config => "listen = false\npoll_seconds = 0.1\nconnections = 4\n");
$run = request($node);
is(settled($node, $run), 'succeeded', 'other defaults');
work_is_done_once($node, $run, 300, 'other defaults');
is($worker->stop, 0, 'the worker stops');
for my $session (1, 2)
{
	IPC::Run::run [ 'psql', '-XAtqc', q{SELECT current_setting('default_transaction_isolation'), current_setting('array_nulls')}, $target ], '>', \my $out;
	is($out, "serializable|off\n", 'the defaults are as they were');
}

kill 'INT', $pid;
waitpid($pid, 0);
$node->stop;
done_testing();
