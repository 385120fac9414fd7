# A server with a pipeline for workers to drive, and what must hold of it in the end.
package Driven;
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Worker;
use Exporter 'import';
our @EXPORT = qw(driven_node serve hold request settled fresh work_is_done_once run_row expire_leases);

# Without unique keys, so that a second answer would show; effect has a row for each time that a work was done. An item
# that is to be held waits while somebody holds the advisory lock 4711.
my $pipeline = <<'SQL';
CREATE EXTENSION pg_backfill;
SELECT backfill.create_roles();
CREATE TABLE item (id bigint PRIMARY KEY, version integer NOT NULL DEFAULT 1, held boolean NOT NULL DEFAULT false, arrived_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE output (step text, id bigint, version integer);
CREATE INDEX ON output (step, id);
CREATE TABLE effect (step text, id bigint, version integer);
SELECT backfill.create_pipeline('driven', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_batch_step('driven', 'first',
	lacking => $$ SELECT i.id FROM item i WHERE i.id = ANY ($1) AND NOT EXISTS (SELECT FROM output o WHERE o.step = 'first' AND o.id = i.id AND o.version = i.version) $$,
	work => $$ WITH gone AS (DELETE FROM output WHERE step = 'first' AND id = ANY ($1)),
		made AS (INSERT INTO output SELECT 'first', id, version FROM item WHERE id = ANY ($1) RETURNING *)
		INSERT INTO effect SELECT * FROM made $$);
SELECT backfill.add_batch_step('driven', 'second',
	lacking => $$ SELECT i.id FROM item i WHERE i.id = ANY ($1) AND NOT EXISTS (SELECT FROM output o WHERE o.step = 'second' AND o.id = i.id AND o.version = i.version) $$,
	work => $$ WITH waited AS MATERIALIZED (SELECT id, CASE WHEN held THEN pg_advisory_xact_lock_shared(4711)::text END FROM item WHERE id = ANY ($1)),
		made AS (INSERT INTO output SELECT 'second', i.id, i.version FROM item i JOIN waited USING (id) RETURNING *)
		INSERT INTO effect SELECT * FROM made $$);
CREATE ROLE driver LOGIN IN ROLE backfill_worker;
CREATE ROLE operator LOGIN IN ROLE backfill_operator, backfill_deliver;
SQL

sub driven_node
{
	my (%options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($options{name} // 'main');
	$node->init(%{ $options{init} // {} });
	# Many small batches would be few large ones otherwise.
	$node->append_conf('postgresql.conf', "autovacuum = off\nlog_statement = none\n" . ($options{conf} // ''));
	$node->start;
	$node->safe_psql('postgres', $pipeline);
	return $node;
}

# A worker whose role may do nothing but work; target: how it reaches the database, unless straight.
sub serve
{
	my ($node, %options) = @_;
	my $config = PostgreSQL::Test::Utils::tempdir() . '/worker.toml';
	PostgreSQL::Test::Utils::append_to_file($config, "[worker]\nlease_seconds = 20\n" . ($options{config} // ''));
	my $worker = Worker->start($options{environment} // {}, 'serve', '--config', $config, '--log-format', 'json',
		'--dbname', $options{target} // $node->connstr('postgres') . ' user=driver');
	$worker->{config} = $config;
	return $worker;
}

# Nothing done yet, and so many items.
sub fresh
{
	my ($node, $items) = @_;
	$node->safe_psql('postgres', "DELETE FROM backfill.run; DELETE FROM backfill.item_failure; DELETE FROM item; DELETE FROM output; DELETE FROM effect;
		UPDATE backfill.pipeline SET watermark = NULL; INSERT INTO item SELECT generate_series(1, $items)");
	return;
}

sub request { my ($node) = @_; return $node->safe_psql('postgres', q{SELECT backfill.request_run('driven')}); }

sub run_row
{
	my ($node, $run, $columns) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM backfill.run WHERE run_id = $run");
}

# The state a run ends in.
sub settled
{
	my ($node, $run) = @_;
	$node->poll_query_until('postgres', "SELECT state NOT IN ('requested', 'running') FROM backfill.run WHERE run_id = $run")
		or die 'the run did not end: ' . run_row($node, $run, 'r::text') =~ s/^/run /r;
	return run_row($node, $run, 'state');
}

# A session that keeps held items from going on; quit ends it.
sub hold
{
	my ($node, $condition) = @_;
	$node->safe_psql('postgres', "UPDATE item SET held = ($condition)");
	my $session = $node->background_psql('postgres');
	$session->query_safe('SELECT pg_advisory_lock(4711)');
	return $session;
}

# Time passes, until who is silent counts as dead.
sub expire_leases
{
	my ($node) = @_;
	$node->safe_psql('postgres', q{UPDATE backfill.run SET lease_until = now() - interval '1 second' WHERE state = 'running'});
	return;
}

# Every item was done once by each step, and the run's tally says so.
sub work_is_done_once
{
	my ($node, $run, $items, $name) = @_;
	is(run_row($node, $run, 'state, candidates, changed, unchanged, skipped, failed, done_ahead'), "succeeded|$items|$items|0|0|0|[]", "$name: the tally adds up");
	is($node->safe_psql('postgres', 'SELECT step, count(*), count(DISTINCT id) FROM effect GROUP BY step ORDER BY step'),
		"first|$items|$items\nsecond|$items|$items", "$name: each item was done once");
	is($node->safe_psql('postgres', 'SELECT * FROM backfill.check_invariants()'), '', "$name: what must hold holds");
	return;
}

1;
