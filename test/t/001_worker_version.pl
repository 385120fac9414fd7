# The worker's version command: what it prints, and what it refuses.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Worker;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

my @there = ('--dbname', $node->connstr('postgres'));

my ($code, $out, $err) = worker('version', @there);
is($code, 4, 'no extension: refused');
like($err, qr/not installed in database "postgres"\nHINT:  Run CREATE EXTENSION pg_backfill there/, 'no extension: what to do');
is($out, '', 'no extension: nothing on standard output');

$node->safe_psql('postgres', 'CREATE EXTENSION pg_backfill');
my $version = $node->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'pg_backfill'});
($code, $out, $err) = worker('version', @there);
is($code, 0, 'same version');
is($out, "program    $version\nextension  $version (database \"postgres\")\n", 'both versions are printed');
is($err, '', 'nothing to complain about');
is((worker('version', '-o', 'json', @there))[1], qq([\n{"program":"$version","extension":"$version","database":"postgres"}\n]\n), 'as JSON');
is((worker('version', '-o', 'csv', @there))[1], "program,extension,database\r\n$version,$version,postgres\r\n", 'as CSV');

{
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	is((worker('version', '-d', 'postgres'))[0], 0, 'a database name, the rest from the environment');
	local $ENV{PGDATABASE} = 'postgres';
	is((worker('version'))[0], 0, 'everything from the environment');
}

$node->safe_psql('postgres', q{UPDATE pg_extension SET extversion = '0.0.0' WHERE extname = 'pg_backfill'});
($code, $out, $err) = worker('version', @there);
is($code, 4, 'older extension: refused');
like($err, qr/is version 0\.0\.0, this program is version \Q$version\E\nHINT:  Run ALTER EXTENSION pg_backfill UPDATE/,
	'older extension: what to do');
is($out, '', 'older extension: nothing on standard output');

($code, $out, $err) = worker('version', '--dbname', 'host=' . $node->host . ' port=1 dbname=postgres');
is($code, 3, 'no server: cannot connect');
like($err, qr/^pg_backfill: connection to server/, 'no server: the reason');
is((worker('version', '--dbname', $node->connstr('nowhere')))[0], 3, 'no such database: cannot connect');

is((worker())[0], 2, 'no command: usage');
for my $case (
	[ ['stats'], 'stats', 'pg_backfill has serve, .*, status, .*; --help' ],
	[ ['--foo'], '--foo', 'pg_backfill has serve, ' ],
	[ [ 'channel', 'tst' ], 'tst', 'pg_backfill channel has list, test; --help' ],
	[ [ 'outbox', 'requeue', '--foo' ], '--foo', 'pg_backfill outbox requeue --help' ])
{
	my ($arguments, $unknown, $hint) = @$case;
	($code, $out, $err) = worker(@$arguments);
	is($code, 2, "@$arguments: usage");
	like($err, qr/^pg_backfill: "\Q$unknown\E" is not known\nHINT:  $hint/, "@$arguments: what is not known, and what there is");
}
($code, $out, $err) = worker('version', '--no-such-option');
is($code, 2, 'unknown option: usage');
like($err, qr/--no-such-option/, 'unknown option: which');
($code, $out, $err) = worker('--help');
is($code, 0, 'help is not an error');
like($out, qr/version .*Exit codes: 0 done/s, 'help names commands and exit codes');

$node->stop;
done_testing();
