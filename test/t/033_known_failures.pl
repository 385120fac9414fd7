# A worker on a night with nothing but items that are known to fail, and on one where nearly all new items fail alike.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Driven;

my $node = driven_node();
sub query { return $node->safe_psql('postgres', $_[0]); }
query(q{SELECT backfill.add_batch_step('driven', 'third', lacking => $$ SELECT k FROM unnest($1) k WHERE NOT EXISTS (SELECT FROM output o WHERE o.step = 'third' AND o.id = k) $$,
	work => $$ INSERT INTO output SELECT 'third', k, 1 FROM unnest($1) k WHERE 1 / (k % 1000) IS NOT NULL $$)});
my $worker = serve($node);
my $tally = 'state, candidates, asked_again, changed, failed, newly_failed, error';

# A hundred items of two days ago, of which thirty fail.
fresh($node, 70);
query(q{INSERT INTO item SELECT n * 1000 FROM generate_series(1, 30) n; UPDATE item SET arrived_at = now() - interval '2 days'; UPDATE backfill.pipeline SET watermark = now() - interval '3 days'});
my $run = request($node);
settled($node, $run);
is(run_row($node, $run, $tally), 'succeeded|100|0|70|30|30|', 'a third fails');
query(q{UPDATE backfill.pipeline SET watermark = now()});

$run = request($node);
settled($node, $run);
is(run_row($node, $run, $tally), 'succeeded|30|30|0|30|0|', 'a quiet night with thirty that are known to fail succeeds');

# Beside forty new ones that fail alike, of which the worker need not try all.
query('INSERT INTO item SELECT n * 1000 FROM generate_series(31, 70) n');
$run = request($node);
settled($node, $run);
like(run_row($node, $run, 'state, error'), qr/^broken\|nearly all items that step "third" works on fail with SQLSTATE 22012/, 'a night on which nearly all new items fail is broken');
is(run_row($node, $run, 'asked_again'), '30', 'and the known ones are told apart');
is(query('SELECT * FROM backfill.check_invariants()'), '', 'invariants hold');

is($worker->stop, 0, 'the worker stops');
$node->stop;
done_testing();
