# Whatever dies, and whenever: nothing is lost, and the receiver gets what the guarantee of the channel says. The oracle is
# what the receiver wrote down.
use strict;
use warnings FATAL => 'all';
use Delivery;
use PostgreSQL::Test::Utils;
use Receiver;
use Test::More;

my $delivery = Delivery->new('main');
my $node = $delivery->node;
my $receiver = Receiver->http;

# Of one kind, so that the guarantee is all that differs.
sub configure
{
	my ($unknown, $more) = @_;
	$delivery->configure("[channel.webhook]\nkind = \"webhook\"\nurl = \"" . $receiver->url . "\"\nallow_plain = true\nallow_private = true\n"
		. "when_unknown = \"$unknown\"\nretry_seconds = 0.001\nretry_longest_seconds = 0.01\nbreaker_seconds = 0.01\nbreaker_longest_seconds = 0.05\n" . ($more // ''));
	$receiver->forget_requests;
	return;
}
my $recent = 'message_id > (SELECT max(message_id) - 3 FROM backfill.message)';
sub states { return $delivery->sql("SELECT state, coalesce(reason, '') FROM backfill.outbox WHERE $recent ORDER BY message_id"); }

# How often the receiver got each of the last three, fewest and most.
sub received
{
	my %times = map { $_ => 0 } split /\n/, $delivery->sql("SELECT receiver_key FROM backfill.message WHERE $recent");
	$times{ $_->{headers}{'idempotency-key'} }++ for $receiver->requests;
	is(scalar(keys %times), 3, 'no other keys');
	my @times = sort { $a <=> $b } values %times;
	return "$times[0]..$times[-1]";
}
sub three { $delivery->tell(map { { recipient => 'webhook:a%' } } 1 .. 3); return; }

# The worker is killed at every point between the claim and the word, and the next one comes when the lease has passed.
# What is left of the claim then, and how often the receiver got each of the three in the end.
my %expected = (
	claimed => [ '1..1', '0..1', 1 ], sending => [ '1..1', '0..1', 1 ], connecting => [ '1..1', '0..1', 1 ],
	answer_begins => [ '1..2', '1..1', 1 ], answered => [ '1..2', '1..1', 1 ], sent => [ '1..2', '1..1', 1 ],
	marking => [ '2..2', '1..1', 1 ], marked => [ '1..1', '1..1', 0 ]);
for my $failpoint (sort keys %expected)
{
	for my $unknown (qw(retry hold))
	{
		configure($unknown);
		three();
		{
			local $ENV{PG_BACKFILL_FAILPOINT} = $failpoint;
			is(($delivery->deliver)[0], -9, "$unknown: killed at $failpoint");
		}
		my ($after_retry, $after_hold, $unsaid) = @{ $expected{$failpoint} };
		$delivery->later(3600, sub { $delivery->deliver });
		my $states = states();
		my $received = received();
		is($received, $unknown eq 'retry' ? $after_retry : $after_hold, "$unknown: killed at $failpoint: what the receiver got");
		if ($unknown eq 'retry')
		{
			is($states, "sent|\nsent|\nsent|", "... all are sent");
		}
		else
		{
			is($states, ($unsaid ? 'unknown|lease_expired' : 'sent|') . "\nsent|\nsent|", '... the one in flight is a person\'s, the others are sent');
		}
	}
}
$delivery->sound('killed workers');

# The server is killed while the worker waits for the receiver's answer: the word is kept and said later.
for my $unknown (qw(retry hold))
{
	configure($unknown, "timeout_seconds = 20\nlease_seconds = 300\n");
	$receiver->control({ path => '/', action => 'hang' });
	three();
	my $worker = $delivery->follow;
	$receiver->wait_for(sub { @_ == 1 });
	$node->stop('immediate');
	$receiver->restart;    # which cuts the connection of the one that hangs
	$node->start;
	$delivery->wait_until("count(*) = 3 FROM backfill.outbox WHERE state IN ('sent', 'unknown') AND $recent");
	is($worker->stop, 0, "$unknown: the server is killed: the worker goes on");
	is(states(), $unknown eq 'retry' ? "sent|\nsent|\nsent|" : "unknown|connection_lost\nsent|\nsent|", '... and says what it knows');
	is(received(), $unknown eq 'retry' ? '1..2' : '1..1', '... what the receiver got');
}

# The receiver is killed in the middle of its answer, and comes back.
for my $unknown (qw(retry hold))
{
	configure($unknown);
	$receiver->control({ action => 'half' });
	three();
	my $worker = $delivery->follow;
	$receiver->wait_for(sub { @_ == 1 });
	$receiver->stop('KILL');
	$receiver->_run('--port', $receiver->port);
	$delivery->wait_until("count(*) = 3 FROM backfill.outbox WHERE state IN ('sent', 'unknown') AND $recent");
	is($worker->stop, 0, "$unknown: the receiver is killed");
	like(states(), $unknown eq 'retry' ? qr/^sent\|\nsent\|\nsent\|$/ : qr/^unknown\|(?:connection_lost|no_answer)\nsent\|\nsent\|$/, '... half an answer is none');
	is(received(), $unknown eq 'retry' ? '1..2' : '1..1', '... what the receiver got');
}
$delivery->sound('killed servers');

# The connection to the database is cut before or after a transaction of the protocol has committed. Only the claim whose
# answer was lost has to wait for its lease to pass.
my $direct = $delivery->target;
append_to_file($node->data_dir . '/pg_hba.conf', "local all all trust\n");
for my $case ([ 'before', 'claim_deliveries' ], [ 'after', 'claim_deliveries' ], [ 'before', 'mark_sent' ], [ 'after', 'mark_sent' ])
{
	my ($when, $what) = @$case;
	for my $unknown (qw(retry hold))
	{
		configure($unknown);
		my $proxy = Receiver->start('proxy.py', '--target', $node->host . '/.s.PGSQL.' . $node->port);
		$delivery->{target} = $direct =~ s/port=\d+ host=\S+/'port=' . $proxy->port . ' host=127.0.0.1'/er;
		$proxy->cut($when, $what);
		three();
		my $worker = $delivery->follow;
		$proxy->wait_for(sub { @_ == 1 });
		if ("$when $what" eq 'after claim_deliveries')
		{
			# What it lost is the last that is not sent.
			$delivery->wait_until($unknown eq 'hold' ? "count(*) = 2 FROM backfill.outbox WHERE state = 'sent' AND $recent" : 'count(*) = 3 FROM backfill.undelivered WHERE token IS NOT NULL');
			is($worker->stop, 0, "$unknown: cut $when $what: the worker goes on");
			$delivery->{target} = $direct;
			$delivery->later(3600, sub { $delivery->deliver });
		}
		else
		{
			$delivery->wait_until("count(*) = 3 FROM backfill.outbox WHERE state = 'sent' AND $recent");
			is($worker->stop, 0, "$unknown: cut $when $what: the worker goes on");
		}
		$delivery->{target} = $direct;
		$proxy->stop;
		my $lost = "$when $what" eq 'after claim_deliveries' && $unknown eq 'hold';
		is(states(), $lost ? "unknown|lease_expired\nsent|\nsent|" : "sent|\nsent|\nsent|", '... nothing is lost');
		is(received(), $lost ? '0..1' : '1..1', '... what the receiver got');
	}
}
$delivery->sound('cut connections');

# A claim that takes long is prolonged in time, before each message that it might not last for. Killed right after that,
# nobody knows of the two that were not begun: the hold of a claim is all that is known of it.
my $slow = "timeout_seconds = 0.5\nlease_seconds = 1.5\nbatch = 3\n";
for my $unknown (qw(retry hold))
{
	for my $killed (1, 0)
	{
		configure($unknown, $slow);
		$receiver->control({ action => 'hang' });
		three();
		my $name = "$unknown: a claim that takes long" . ($killed ? ', killed when it was prolonged' : '');
		{
			local $ENV{PG_BACKFILL_FAILPOINT} = $killed ? 'heartbeat' : '';
			is(($delivery->deliver)[0], $killed ? -9 : 1, $name);
		}
		$delivery->later(3600, sub { $delivery->deliver }) if $killed;
		is(states(), $unknown eq 'retry' ? "sent|\nsent|\nsent|" : $killed ? "unknown|timeout\nunknown|lease_expired\nunknown|lease_expired" : "unknown|timeout\nsent|\nsent|",
			'... nothing is lost');
		is(received(), $unknown eq 'retry' ? '1..2' : $killed ? '0..1' : '1..1', '... what the receiver got');
	}
}

# What is somebody else's by the time that it is prolonged is not sent.
configure('retry', "timeout_seconds = 6\nlease_seconds = 18\nbatch = 3\n");
$receiver->control({ action => 'hang' });
three();
my $slow_worker = $delivery->follow;
$receiver->wait_for(sub { @_ == 1 });
$delivery->sql('UPDATE backfill.undelivered SET token = token + 1000 WHERE message_id = (SELECT max(message_id) FROM backfill.message)');
$slow_worker->wait_for_word(qr/claim_lost/);
$delivery->wait_until("count(*) = 2 FROM backfill.outbox WHERE state = 'sent' AND $recent");
is($slow_worker->stop, 0, 'a claim that was lost: the worker goes on');
is(received(), '0..2', '... and does not send what is not its own');
$delivery->later(3600, sub { $delivery->deliver });
is(states(), "sent|\nsent|\nsent|", '... the next claim of it does');
$delivery->sound('slow claims');

# Killed between a file that is written aside and its name: whoever looks at the folder sees whole files only.
my $folder = PostgreSQL::Test::Utils::tempdir();
$delivery->configure("[channel.disk]\nkind = \"file\"\ndirectory = \"$folder\"\n");
$delivery->tell(map { { recipient => 'file:there%', channel => 'disk' } } 1 .. 3);
{
	local $ENV{PG_BACKFILL_FAILPOINT} = 'written_aside:2';
	is(($delivery->deliver)[0], -9, 'killed when a file was written aside');
}
is(scalar(my @first = glob("$folder/*/*.json")), 1, '... the one before is there');
is(scalar(my @aside = glob("$folder/*/.*.part")), 1, '... and the one aside is no file yet');
$delivery->later(3600, sub { $delivery->deliver });
is(states(), "sent|\nsent|\nsent|", '... all are sent');
is(join(' ', map { slurp_file($_) } sort glob("$folder/*/*.json")),
	$delivery->sql("SELECT string_agg(payload::text, ' ' ORDER BY recipient || '/' || receiver_key) FROM backfill.message WHERE $recent"), '... and whole');
is(join(' ', glob("$folder/*/.*.part")), '', '... and nothing is left aside');
$delivery->sound('files');
$receiver->stop;
$node->stop;
done_testing();
