# A hundred thousand items of which one in fifty is poisoned: the others are done, each of these costs itself and no
# more, the tally adds up, and memory stays flat.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($few, $many) = (10_000, 100_000);
# A run that kept as little as a short string for each item would go beyond these, in bytes.
my ($most_growth, $most_left) = (8_000_000, 1_000_000);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
# Few shared buffers, which count as the session's memory as soon as it has touched them.
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\nshared_buffers = 2MB\nwork_mem = 1MB\nmax_wal_size = 4GB");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pg_backfill;
CREATE TABLE item (id bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now() - interval '1 hour');
CREATE INDEX ON item (at);
CREATE TABLE output (id bigint PRIMARY KEY, value bigint NOT NULL);
SELECT backfill.create_pipeline('many', 'SELECT id, at FROM item WHERE at >= $1 AND at < $2');
SELECT backfill.add_batch_step('many', 'make', 'SELECT k FROM unnest($1) k LEFT JOIN output o ON o.id = k WHERE o.id IS NULL',
	'INSERT INTO output SELECT k, 100 / (k % 50) FROM unnest($1) k');
SQL

# The peak of the session's memory so far, and what it holds now.
my $memory = q{SELECT 'memory', 1024 * substring(pg_read_file('/proc/self/status'), 'VmHWM:\s+(\d+)')::bigint, (SELECT sum(total_bytes) FROM pg_backend_memory_contexts);};
my $run = q{CALL backfill.run('many');};
my ($code, $out, $err) = $node->psql('postgres', <<SQL, on_error_stop => 1);
SET client_min_messages = error;
SET backfill.narrate = none;
INSERT INTO item SELECT generate_series(1, $few);
VACUUM ANALYZE item;
$run
$run
$memory
TRUNCATE item, output, backfill.item_failure;
INSERT INTO item SELECT generate_series(1, $many);
VACUUM ANALYZE item;
SELECT count(*), sum(id) FROM item;
SELECT clock_timestamp() AS began \\gset
$run
SELECT 'seconds', round(extract(epoch FROM clock_timestamp() - :'began'), 1);
$memory
$run
$memory
SQL
is($code, 0, 'runs') or diag($err);
my @tallies = $out =~ /^\d+\|(\d+ candidates.*)$/mg;
my @memory = map { [ split /\|/ ] } $out =~ /^memory\|(.*)$/mg;
note $_ for $out =~ /^(seconds.*|memory.*)$/mg;

my $bad = $many / 50;
my $good = $many - $bad;
is($tallies[2], "$many candidates: $good changed, 0 unchanged, 0 skipped, $bad failed (sqlstate_22012 $bad), $bad of them for the first time", 'the others are done');
is($tallies[3], "$many candidates: 0 changed, $good unchanged, 0 skipped, $bad failed (sqlstate_22012 $bad)", 'and only the poisoned ones are tried again');
is($node->safe_psql('postgres', 'SELECT count(*), count(*) FILTER (WHERE id % 50 = 0) FROM output'), "$good|0", 'each other item has its output');
is($node->safe_psql('postgres', 'SELECT count(*), count(*) FILTER (WHERE item::bigint % 50 = 0) FROM backfill.item_failure'), "$bad|$bad", 'each poisoned one its failure');
is($node->safe_psql('postgres', q{SELECT count(*) FROM backfill.run WHERE state <> 'succeeded' OR candidates <> changed + unchanged + skipped + failed}), '0', 'tallies add up');
is($node->safe_psql('postgres', q{SELECT count(*) FROM backfill.run r WHERE r.candidates <> (SELECT sum(c.items) FROM backfill.run_step_count c WHERE c.run_id = r.run_id)}), '0',
	'and so do the counts of their steps');
is($node->safe_psql('postgres', 'SELECT * FROM backfill.check_invariants()'), '', 'invariants hold');
for my $pass (1, 2)
{
	my ($growth, $left) = map { $memory[$pass][$_] - $memory[0][$_] } 0, 1;
	note "pass $pass: peak $growth bytes above that of $few items, $left left behind";
	cmp_ok($growth, '<', $most_growth, "pass $pass: ten times as many items take no more memory");
	cmp_ok($left, '<', $most_left, "pass $pass: and leave none behind");
}

$node->stop;
done_testing();
