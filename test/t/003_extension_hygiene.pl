# The extensions come and go without a trace, and refuse to take over a schema that is there.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# Every row that describes a database object, counted by catalog.
sub objects
{
	return $node->safe_psql('postgres', <<'SQL');
SELECT 'class', count(*) FROM pg_class UNION ALL SELECT 'proc', count(*) FROM pg_proc UNION ALL
SELECT 'type', count(*) FROM pg_type UNION ALL SELECT 'namespace', count(*) FROM pg_namespace UNION ALL
SELECT 'description', count(*) FROM pg_description UNION ALL SELECT 'constraint', count(*) FROM pg_constraint UNION ALL
SELECT 'trigger', count(*) FROM pg_trigger UNION ALL SELECT 'cast', count(*) FROM pg_cast UNION ALL
SELECT 'init_privs', count(*) FROM pg_init_privs UNION ALL SELECT 'default_acl', count(*) FROM pg_default_acl UNION ALL
SELECT 'depend', count(*) FROM pg_depend UNION ALL SELECT 'roles', count(*) FROM pg_authid ORDER BY 1
SQL
}

my $before = objects();
for my $time ('once', 'twice')
{
	$node->safe_psql('postgres', 'CREATE EXTENSION bt_leads CASCADE');
	is($node->safe_psql('postgres', q{SELECT string_agg(extname, ' ' ORDER BY extname) FROM pg_extension WHERE extname <> 'plpgsql'}),
		'bt_leads pg_backfill', "created $time, the engine along with the leads");
	my (undef, undef, $err) = $node->psql('postgres', 'DROP EXTENSION pg_backfill');
	like($err, qr/because other objects depend on it/, "the engine does not go while the leads need it, $time");
	$node->safe_psql('postgres', 'DROP EXTENSION bt_leads; DROP EXTENSION pg_backfill');
	is(objects(), $before, "dropped $time, nothing is left");
}

# Somebody else's schema of that name could hold functions that shadow ours.
my (undef, undef, $err) = $node->psql('postgres', 'CREATE SCHEMA backfill; CREATE EXTENSION pg_backfill');
like($err, qr/schema "backfill" already exists/, 'an existing schema is not taken over');

$node->stop;
done_testing();
