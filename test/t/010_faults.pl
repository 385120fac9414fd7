# A run that is struck at any place and run again ends in the state of an undisturbed one, with nothing done twice.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nrestart_after_crash = on");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pg_backfill;
CREATE TABLE item (id bigint PRIMARY KEY, version integer NOT NULL DEFAULT 1, arrived_at timestamptz NOT NULL DEFAULT now());
-- Without unique keys, so that a second answer would show; effect has a row for each time that a work was done.
CREATE TABLE output (step text, id bigint, version integer);
CREATE INDEX ON output (step, id);
CREATE TABLE effect (step text, id bigint, version integer);
SELECT backfill.create_pipeline('struck', 'SELECT id, arrived_at FROM item WHERE arrived_at >= $1 AND arrived_at < $2');
SELECT backfill.add_batch_step('struck', 'first',
	lacking => $$ SELECT i.id FROM item i WHERE i.id = ANY ($1) AND NOT EXISTS (SELECT FROM output o WHERE o.step = 'first' AND o.id = i.id AND o.version = i.version) $$,
	work => $$ WITH gone AS (DELETE FROM output WHERE step = 'first' AND id = ANY ($1)),
		made AS (INSERT INTO output SELECT 'first', id, version FROM item WHERE id = ANY ($1) RETURNING *)
		INSERT INTO effect SELECT * FROM made $$);
SELECT backfill.add_step('struck', 'second',
	done => $$ SELECT EXISTS (SELECT FROM output o JOIN item i USING (id, version) WHERE o.step = 'second' AND o.id = $1) $$,
	work => $$ WITH gone AS (DELETE FROM output WHERE step = 'second' AND id = $1),
		made AS (INSERT INTO output SELECT 'second', id, version FROM item WHERE id = $1 RETURNING *)
		INSERT INTO effect SELECT * FROM made $$);
SQL

# Nothing done yet; or one item done, one half, one stale and one new.
my $fresh = 'DELETE FROM backfill.run; DELETE FROM item; DELETE FROM output; DELETE FROM effect; INSERT INTO item SELECT generate_series(1, 3);';
my $partly = $fresh . q{
	INSERT INTO item VALUES (4);
	INSERT INTO output VALUES ('first', 1, 1), ('second', 1, 1), ('first', 2, 1), ('first', 3, 1), ('second', 3, 1);
	UPDATE item SET version = 2 WHERE id = 3;};
my $state = q{SELECT 'output', o::text FROM output o UNION ALL SELECT 'effect', e::text FROM effect e ORDER BY 1, 2};

my $load = "LOAD '$ENV{FAULTPOINT}'; SET client_min_messages = error;";
my $run = q{CALL backfill.run('struck');};

sub psql
{
	my ($sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $sql, on_error_stop => 0, extra_params => [ '--set', 'SHOW_CONTEXT=never' ]);
	return ($out, $err);
}

# What must come out of the runs after a strike, whatever it was: the undisturbed end, and then nothing to do.
my $aftermath = "\\echo - next\n$run $state; \\echo - next but one\n$run";
sub wrong_end
{
	my ($out, $expected) = @_;
	my ($next, $last) = $out =~ /^- next\n\d+\|[^\n]*\n(.*)^- next but one\n\d+\|(.*?)\n?\z/ms or return "no end: $out";
	chomp $next;
	return "end of the next run: $next" if $next ne $expected;
	return $last =~ / 0 changed, \d unchanged, 0 skipped, 0 failed$/ ? () : "next run but one: $last";
}

# How a session that is struck may end, and the states its run may be left in: running only if the backend is gone, none
# if it was struck before it began.
my %sqlstate = (error => '58030', cancel => '57014');
my %left = (error => qr/^(?:failed|succeeded|)$/, cancel => qr/^(?:cancelled|succeeded|)$/,
	terminate => qr/^(?:running|succeeded|)$/, kill => qr/^(?:running|succeeded|)$/);
my %message = (terminate => qr/FATAL:  terminating connection due to administrator command/, kill => qr/server closed the connection unexpectedly/);

for my $beginning ([ 'a first run', $fresh ], [ 'a run over partly done items', $partly ])
{
	my ($name, $begin) = @$beginning;
	my ($out, $err) = psql("$load $begin SET faultpoint.at = 1000000; $run SHOW faultpoint.passed; $state");
	my ($tally, $places, $expected) = $out =~ /^\d+\|([^\n]*)\n(\d+)\n(.*)\z/s or die "undisturbed: $out $err";
	like($tally, qr/ [34] changed, \d unchanged, 0 skipped, 0 failed/, "$name, undisturbed");
	cmp_ok($places, '>', 50, "$name: there are places");

	# The same session goes on after every fault, as a pooled connection does.
	for my $how (qw(error cancel))
	{
		my $script = "$load SET faultpoint.how = '$how';";
		$script .= "\\echo == $_\n$begin SET faultpoint.passed = 0; SET faultpoint.at = $_; $run
			\\echo - saw :SQLSTATE\nSET faultpoint.at = 0; SELECT '- left ' || state FROM backfill.run; $aftermath" for 1 .. $places;
		my ($told, $complaints) = psql($script);
		my (@bad, %seen);
		for my $place (split /^== /m, $told)
		{
			my ($number, $saw) = $place =~ /^(\d+)\n.*^- saw (\w+)$/ms or next;
			my $left = $place =~ /^- left (\w+)$/m ? $1 : '';
			$seen{"$left $saw"}++;
			push @bad, "$number: the caller saw $saw" unless $saw eq $sqlstate{$how} || ($saw eq '00000' && $left eq 'succeeded');
			push @bad, "$number: run is left $left" unless $left =~ $left{$how};
			push @bad, map { "$number: $_" } wrong_end($place, $expected);
		}
		is(join("\n", grep { defined } @bad[0 .. 9]), '', "$name, $how at each of $places places");
		my $struck = 0;
		$struck += $seen{$_} for keys %seen;
		is($struck, $places, "$name, $how: every place was struck");
		note "runs left: ", join(', ', map { "$_ $seen{$_}" } sort keys %seen);
	}

	# Here every fault costs a session, and a kill a restart of the server, so not each place has its turn.
	for my $how (qw(terminate kill))
	{
		my (@bad, %seen);
		for (my $place = 1; $place <= $places; $place += $how eq 'kill' ? 13 : 5)
		{
			my ($told, $complaint) = psql("$load $begin SET faultpoint.how = '$how'; SET faultpoint.at = $place; $run \\echo survived\n");
			push @bad, "$place: the caller saw $complaint" unless $complaint =~ $message{$how} || $told =~ /survived/;
			$node->poll_query_until('postgres', 'SELECT true') or die 'the server did not come back';
			my ($after) = psql("$load SELECT '- left ' || state FROM backfill.run; $aftermath");
			my $left = $after =~ /^- left (\w+)$/m ? $1 : '';
			$seen{$left}++;
			push @bad, "$place: run is left $left" unless $left =~ $left{$how};
			push @bad, map { "$place: $_" } wrong_end($after, $expected);
		}
		is(join("\n", grep { defined } @bad[0 .. 9]), '', "$name, $how at some places");
		cmp_ok($seen{running} // 0, '>', 3, "$name, $how: runs were struck");
	}
}

$node->stop;
done_testing();
