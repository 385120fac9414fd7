# The SQL of README.md does what the page says.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

open(my $page, '<', 'README.md') or die "README.md: $!";
my $text = do { local $/; <$page> };
my @blocks = $text =~ /^```sql\n(.*?)^```/msg;
cmp_ok(scalar @blocks, '>', 2, 'the page has SQL');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
for my $n (0 .. $#blocks) {
	my ($status, $out, $err) = $node->psql('postgres', $blocks[$n], extra_params => [ '-v', 'ON_ERROR_STOP=1' ]);
	is($status, 0, "block $n runs") or diag $err;
	if ($blocks[$n] =~ /backfill\.prove\(/) {
		like($out, qr/^\|proven\|5\|Made: write_invoice 1, tell_customer 1\.$/m, 'the page\'s pipeline is proven');
	}
	if ($blocks[$n] =~ /obj_description/) {
		my @functions = split /\n/, $out;
		cmp_ok(scalar(@functions), '>', 50, 'the functions are listed');
		is(scalar(grep { /^backfill\._/ || /\|$/ } @functions), 0, 'the public ones, each with its comment');
	}
	if ($n == 0) {
		is(($out =~ /((?:^\d+\|\d+\|\d+\n?)+)\z/m)[0], "1|3|2\n2|0|0", 'the second pass changes and tells nothing');
	}
}
is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT state || ' ' || coalesce(reason, ''), ',' ORDER BY state || ' ' || coalesce(reason, '')) FROM backfill.outbox}),
	'pending ,suppressed replay', 'the replay told nobody');
is($node->safe_psql('postgres', 'SELECT count(*) FROM backfill.check_invariants()'), '0', 'everything holds');
done_testing();
