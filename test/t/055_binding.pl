# A copy of a database sends nothing: made by pg_dump, from a template, or by promoting a standby. Binding anew is a step
# that somebody takes, and what was in flight is a person's to decide.
use strict;
use warnings FATAL => 'all';
use Delivery;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Receiver;
use Test::More;

my $delivery = Delivery->new('main', allows_streaming => 1);
my $node = $delivery->node;
my $receiver = Receiver->http;
my $channel = "[channel.webhook]\nkind = \"webhook\"\nurl = \"" . $receiver->url . "\"\nallow_plain = true\nallow_private = true\n";

# Not bound: nothing is claimed, whatever is configured.
$delivery->configure($channel, unbound => 1);
$delivery->tell({ recipient => 'webhook:a' }, { recipient => 'webhook:b' });
my ($code, $out, $err) = $delivery->deliver;
is($code, 5, 'not bound: nothing is sent');
like($err, qr/^pg_backfill: this worker is not bound to a database\nHINT:  Run pg_backfill bind /m, 'and it says what to do');
is($delivery->outbox, "webhook:a|pending||0\nwebhook:b|pending||0", 'nothing was claimed');

# The role that delivers may know which database it is, and no more.
($code, $out, $err) = $delivery->worker('bind');
is($code, 0, 'bound');
like($out, qr{^bound to database "postgres" \(\d+/\d+/1\)\n$}, 'to this one');
my $identity = $delivery->sql('SELECT system_identifier FROM pg_control_system()') . '/' . $delivery->sql('SELECT oid FROM pg_database WHERE datname = current_database()') . '/1';
is(slurp_file("$delivery->{folder}/binding"), "$identity\n", 'in a file outside the database: system identifier, database and timeline');
is(($delivery->worker('bind'))[1], "already bound to database \"postgres\" ($identity)\n", 'once more changes nothing');

# One in flight, which the copies below have too; one that waits.
$node->backup('base');
$delivery->sql(q{SELECT FROM backfill.claim_deliveries('webhook', 1)});
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
command_ok([ 'pg_dump', '--format=custom', '--file', $dump, $node->connstr('postgres') ], 'dump');
$delivery->sql('CREATE DATABASE from_template TEMPLATE postgres', 'template1');
my $other = PostgreSQL::Test::Cluster->new('other');
$other->init;
$other->append_conf('postgresql.conf', 'fsync = off');
$other->start;
$other->safe_psql('postgres', 'CREATE DATABASE elsewhere; CREATE ROLE backfill_worker; CREATE ROLE backfill_reader; CREATE ROLE backfill_operator; CREATE ROLE backfill_deliver; CREATE ROLE worker LOGIN IN ROLE backfill_worker');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $other->connstr('elsewhere'), $dump ], 'restore in another cluster');
command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr('restored'), $dump ], 'restore beside it');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'fsync = off');
$standby->start;
$node->wait_for_catchup($standby);
{
	local $delivery->{target} = $standby->connstr('postgres') . ' user=worker';
	($code, $out, $err) = $delivery->deliver;
	isnt($code, 0, 'a standby: nothing is sent');
	($code, $out, $err) = $delivery->worker('bind');
	is($code, 2, 'a standby cannot be bound to');
	like($err, qr/is a standby\nHINT:  Nothing can be delivered from it; bind after it was promoted/, 'and why');
}
# The log knows of the promotion at once, the control file after the next checkpoint.
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die;

my $claimed = q{SELECT count(*) FROM backfill.undelivered WHERE token IS NOT NULL};
for my $case ([ 'made by pg_dump in another cluster', $other, 'elsewhere' ], [ 'made by pg_dump beside it', $node, 'restored' ],
	[ 'made from a template', $node, 'from_template' ], [ 'a standby that was promoted', $standby, 'postgres' ])
{
	my ($name, $where, $database) = @$case;
	local $delivery->{target} = $where->connstr($database) . ' user=worker';
	is($where->safe_psql($database, $claimed), '1', "$name: one is in flight");
	($code, $out, $err) = $delivery->deliver;
	is($code, 5, "$name: nothing is sent");
	like($err, qr/not the database the worker is bound to.*\nHINT: .*pg_backfill bind/, "$name: it says what to do");
	is($where->safe_psql($database, $claimed), '1', "$name: nothing is claimed");
}
is(scalar($receiver->requests), 0, 'the receiver has heard nothing');

# A worker in the background says it, keeps still, and goes on by itself once it is bound.
{
	local $delivery->{target} = $standby->connstr('postgres') . ' user=worker';
	my $worker = $delivery->follow;
	$worker->wait_for_word(qr/delivery_not_bound/);
	is(scalar($receiver->requests), 0, 'in the background: it says that it is not bound, and sends nothing');
	($code, $out, $err) = $delivery->worker('bind');
	is($code, 0, 'bound anew');
	like($out, qr/^message 1 was in flight and is unknown now\nFind out.*bound to .*, no longer to \Q$identity\E\n$/s, 'what was in flight is listed');
	$receiver->wait_for(sub { @_ == 1 });
	is($worker->stop, 0, 'it has gone on by itself');
	is($standby->safe_psql('postgres', 'SELECT recipient, state, reason FROM backfill.outbox ORDER BY 1'), "webhook:a|unknown|abandoned\nwebhook:b|sent|", 'one is for a person, the other is sent');
	is($standby->safe_psql('postgres', 'SELECT * FROM backfill.check_invariants()'), '', 'the invariants hold');
}
# And the one that was the original has lost the right.
is(($delivery->deliver)[0], 5, 'the original sends nothing any more');
$_->stop for $receiver, $standby, $other, $node;
done_testing();
