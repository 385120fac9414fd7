# A database that is dumped and restored into another one knows what it has told: a replay there, opted in or not, lets
# nothing wait that was sent, and what was being sent when the dump was made is nobody's until a person decides.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "backfill.narrate = 'none'\nclient_min_messages = warning");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE restored');

# Six orders of one day: two sent, one under way, one refused for good, one that waits, one that a replay suppressed.
my $clock = "SELECT FROM set_config('backfill.test_clock_seconds', extract(epoch FROM timestamptz '2026-11-03 12:00+00')::text, false);";
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION pg_backfill;
$clock
CREATE TABLE item (id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL);
CREATE TABLE output (id bigint PRIMARY KEY);
CREATE FUNCTION make(k bigint) RETURNS void LANGUAGE plpgsql AS
\$\$ BEGIN INSERT INTO public.output VALUES (k); PERFORM backfill.emit('slack:#' || k, 'made', to_jsonb(k)); END \$\$;
SELECT backfill.create_pipeline('told', 'SELECT id, arrived_at FROM public.item WHERE arrived_at >= \$1 AND arrived_at < \$2');
SELECT backfill.add_step('told', 'make', 'SELECT EXISTS (SELECT FROM public.output o WHERE o.id = \$1)', 'SELECT public.make(\$1)',
	clear => 'DELETE FROM public.output WHERE id = \$1');
INSERT INTO item SELECT n, '2026-11-03 09:00+00' FROM generate_series(1, 5) n;
CALL backfill.run('told');
DO \$\$
DECLARE
	c record;
BEGIN
	FOR c IN SELECT * FROM backfill.claim_deliveries('slack', 4) LOOP
		IF c.recipient IN ('slack:#1', 'slack:#2') THEN
			PERFORM backfill.mark_sent(ARRAY[c.message_id], c.token);
		ELSIF c.recipient = 'slack:#4' THEN
			PERFORM backfill.mark_failed(ARRAY[c.message_id], c.token, 'http_404', permanent => true);
		END IF;
	END LOOP;
END \$\$;
INSERT INTO item VALUES (6, '2026-11-03 09:00+00');
SELECT FROM backfill.replay('told', '2026-11-03', '2026-11-04');
CALL backfill.run_requested('told');
SQL
my $states = q{SELECT recipient, state, reason, receiver_key FROM backfill.outbox ORDER BY recipient};
my $before = $node->safe_psql('postgres', $states);
is($node->safe_psql('postgres', 'SELECT recipient, state FROM backfill.outbox ORDER BY recipient'), join("\n",
	'slack:#1|sent', 'slack:#2|sent', 'slack:#3|claimed', 'slack:#4|dead', 'slack:#5|pending', 'slack:#6|suppressed'), 'six messages, each in another state');

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
command_ok([ 'pg_dump', '--format=custom', '--file', $dump, $node->connstr('postgres') ], 'dump');
command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr('restored'), $dump ], 'restore');
is($node->safe_psql('restored', $states), $before, 'the messages are as they were, and so are the keys their receivers know');

# All of it again, silently: nothing waits that did not wait before.
my $replay = "SELECT FROM backfill.replay('told', '2026-11-01', '2026-11-04', redo => 'all', deliver => %s);\nCALL backfill.run_requested('told');";
$node->safe_psql('restored', $clock . sprintf($replay, 'false'));
is($node->safe_psql('restored', 'SELECT count(*), sum(changed) FROM backfill.run_history WHERE replay_id = (SELECT max(replay_id) FROM backfill.replay)'), '3|6', 'the replay made all six again');
is($node->safe_psql('restored', $states), $before, 'and told nobody');

# Opted in: what was suppressed waits now, and nothing else does.
$node->safe_psql('restored', $clock . sprintf($replay, 'true'));
my $claims = q{SELECT recipient FROM backfill.claim_deliveries('slack') ORDER BY 1};
is($node->safe_psql('restored', "SELECT recipient, state FROM backfill.outbox ORDER BY recipient"), join("\n",
	'slack:#1|sent', 'slack:#2|sent', 'slack:#3|claimed', 'slack:#4|dead', 'slack:#5|pending', 'slack:#6|pending'), 'opted in, only what was suppressed waits too');
is($node->safe_psql('restored', "SELECT backfill.abandon_claims()"), $node->safe_psql('restored', "SELECT message_id FROM backfill.message WHERE recipient = 'slack:#3'"), 'what was under way is unknown');
is($node->safe_psql('restored', "$clock $claims"), "slack:#5\nslack:#6", 'and only what was never tried is claimed');
is($node->safe_psql('restored', "$clock SELECT * FROM backfill.check_invariants()"), '', 'the invariants hold');

# The restored copy goes on counting where the original stood: a new message does not take an old one's place.
cmp_ok($node->safe_psql('restored', "$clock INSERT INTO item VALUES (7, '2026-11-03 09:00+00'); CALL backfill.run('told', NULL, NULL); SELECT max(message_id) FROM backfill.message") =~ s/.*\n//rs,
	'>', 6, 'a new message has a number of its own');

$node->stop;
done_testing();
