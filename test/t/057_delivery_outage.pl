# A provider that is down uses up nobody's attempts; afterwards all is delivered, or expired by rule. Several workers on one
# database send each message once, and one that was away too long is not believed.
use strict;
use warnings FATAL => 'all';
use Delivery;
use PostgreSQL::Test::Utils;
use Receiver;
use Test::More;

my $delivery = Delivery->new('main');
my $receiver = Receiver->http;

sub configure
{
	my ($more) = @_;
	$delivery->configure("[channel.webhook]\nkind = \"webhook\"\nurl = \"" . $receiver->url . "\"\nallow_plain = true\nallow_private = true\n"
		. "retry_seconds = 0.01\nretry_longest_seconds = 0.05\nbreaker_seconds = 0.02\nbreaker_longest_seconds = 0.1\n" . ($more // ''));
	$receiver->forget_requests;
	return;
}
my $attempts = q{SELECT coalesce(max(attempts), 0) FROM backfill.undelivered};
my $trials = sub { return "(SELECT count(*) FROM backfill.delivery WHERE reason = '$_[0]') >= $_[1]"; };

# Down in every way it can be, for far more trials than a message has attempts; an hour's worth, for a breaker that is this
# impatient. Twenty messages wait; then one that waits alone.
configure("max_attempts = 3\n");
for my $messages (20, 1)
{
	$delivery->sql('TRUNCATE backfill.delivery');    # so that trials are counted from here; what was sent before is discarded
	$delivery->sql('DELETE FROM backfill.emission; DELETE FROM backfill.message');
	$receiver->forget_requests;
	$receiver->stop;
	$delivery->tell(map { { recipient => 'webhook:out%' } } 1 .. $messages);
	my $worker = $delivery->follow;
	$delivery->wait_until($trials->('connection_refused', 40));
	cmp_ok($delivery->sql($attempts), '<=', 1, "$messages waiting: refused connections use up no attempts");
	# Some of it are the attempts under way before the breaker opened.
	# It says so from the first moment on, or the worker would be faster than whoever tells it to.
	$receiver->_run('--port', $receiver->port, '--rules', '[{"status": 503, "times": 0}]');
	$delivery->wait_until($trials->('http_503', 40));
	cmp_ok($delivery->sql($attempts), '<=', 2, "$messages waiting: nor does a provider that says it is down");
	is($delivery->sql(q{SELECT count(*) FROM backfill.undelivered}), $messages, "$messages waiting: all still wait");
	$worker->wait_for_word(qr/channel_paused/);
	$receiver->forget;
	$delivery->wait_until(q{NOT EXISTS (SELECT FROM backfill.undelivered)});
	is($worker->stop, 0, 'the worker ends when it is asked to');
	is($delivery->sql(q{SELECT string_agg(DISTINCT state, ',') FROM backfill.outbox}), 'sent', "$messages waiting: afterwards all are delivered");
	my %times;
	$times{ $_->{headers}{'idempotency-key'} }++ for grep { $_->{answer} eq '200' } $receiver->requests;
	is(join(',', scalar(keys %times), sort values %times), join(',', $messages, (1) x $messages), 'once each');
}
$delivery->sound('outage');

# What grew too old meanwhile is not sent any more.
$receiver->control({ status => 503, times => 0 });
$delivery->tell(map { { recipient => 'webhook:old%' } } 1 .. 3);
$delivery->deliver;
$receiver->forget;
$receiver->forget_requests;
$delivery->later(3 * 86400, sub { $delivery->deliver });
is($delivery->sql(q{SELECT DISTINCT state, reason FROM backfill.outbox WHERE recipient LIKE 'webhook:old%'}), 'expired|too_old', 'too old: expired');
is(scalar($receiver->requests), 0, 'and not sent');

# Expiry just before sending: it was claimed in time, and its turn came too late.
configure("per_second = 1\nbatch = 10\n");
$delivery->tell(map { { recipient => 'webhook:late%' } } 1 .. 3);
$delivery->sql(q{UPDATE backfill.undelivered SET deliver_until = clock_timestamp() + CASE WHEN message_id = (SELECT min(message_id) FROM backfill.undelivered) THEN '1 day' ELSE '900 milliseconds' END::interval});
$delivery->deliver;
is($delivery->sql(q{SELECT state, reason, attempts FROM backfill.outbox WHERE recipient LIKE 'webhook:late%' ORDER BY message_id}), "sent||1\nexpired|too_old|0\nexpired|too_old|0", 'claimed in time, too old when its turn comes');
$delivery->sound('expiry');

# Two and four workers, in several threads each.
for my $workers (2, 4)
{
	configure("senders = 2\nbatch = 7\n");
	$delivery->tell(map { { recipient => "webhook:w${workers}_%" } } 1 .. 300);
	my @workers = map { $delivery->follow } 1 .. $workers;
	$delivery->wait_until(q{NOT EXISTS (SELECT FROM backfill.undelivered)});
	is(join(' ', map { $_->stop } @workers), join(' ', (0) x $workers), "$workers workers end when they are asked to");
	my %times;
	$times{ $_->{headers}{'idempotency-key'} }++ for $receiver->requests;
	is(join(',', scalar(keys %times), sort { $b <=> $a } values %times), join(',', 300, (1) x 300), "$workers workers: each message was sent once");
	my $claims = () = map { $_->{err} =~ /status=sent/g } @workers;
	is($claims, 300, "$workers workers: and one of them says so");
}
# Killed while they are at it, where nothing may be sent twice: what was in flight is unknown, nothing is lost or doubled.
configure("senders = 2\nwhen_unknown = \"hold\"\n");
$delivery->tell(map { { recipient => 'webhook:k%' } } 1 .. 200);
my @workers = map { $delivery->follow } 1 .. 4;
$receiver->wait_for(sub { @_ >= 40 });
$_->signal('KILL') for @workers[ 0, 1 ];
is($_->wait, -9, 'killed') for @workers[ 0, 1 ];
$delivery->wait_until(q{NOT EXISTS (SELECT FROM backfill.undelivered WHERE token IS NULL)});
$delivery->wait_until(q{count(*) <= 4 FROM backfill.undelivered});
is($_->stop, 0, 'the others end when they are asked to') for @workers[ 2, 3 ];
$delivery->later(3600, sub { $delivery->deliver });
my %times;
$times{ $_->{headers}{'idempotency-key'} }++ for $receiver->requests;
is(scalar(grep { $_ > 1 } values %times), 0, 'none was sent twice');
is($delivery->sql(q{SELECT count(*) FROM backfill.outbox WHERE recipient LIKE 'webhook:k%' AND state NOT IN ('sent', 'unknown')}), '0', 'each is sent or unknown');
is($delivery->sql(q{SELECT count(*) FROM backfill.outbox WHERE recipient LIKE 'webhook:k%' AND state = 'sent' AND receiver_key::text <> ALL (string_to_array($$} . join(',', keys %times) . q{$$, ','))}), '0', 'and what is sent was received');

# A worker that was away longer than its lease is not believed.
configure("timeout_seconds = 20\n");
$receiver->control({ action => 'hang' });
$delivery->tell({ recipient => 'webhook:stale' });
my $stale = $delivery->follow;
$receiver->wait_for(sub { @_ == 1 });
$stale->signal('STOP');
$delivery->later(3600, sub { $delivery->deliver });
is($delivery->sql(q{SELECT state, attempts FROM backfill.outbox WHERE recipient = 'webhook:stale'}), 'sent|2', 'another worker has sent it');
$receiver->restart;    # cuts the connection of the one that hangs
$stale->signal('CONT');
$stale->wait_for_word(qr/word_refused message=\d+ channel=webhook word=unknown/);
is($stale->stop, 0, 'the stale one is refused, and goes on');
is($delivery->sql(q{SELECT state, attempts FROM backfill.outbox WHERE recipient = 'webhook:stale'}), 'sent|2', 'and has changed nothing');

# SIGTERM: what is in flight is finished, the rest is given back; a second one leaves at once.
configure("batch = 10\n");
$receiver->control({ action => 'hang' });
$delivery->tell(map { { recipient => 'webhook:t%' } } 1 .. 5);
$delivery->configure(slurp_file($delivery->{config}) =~ s/.*(?=\[channel)//sr, delivery => 'shutdown_seconds = 1');
my $stopped = $delivery->follow;
$receiver->wait_for(sub { @_ == 1 });
is($stopped->stop, 0, 'asked to stop with one in flight that never ends: it ends in time');
is($delivery->sql(q{SELECT state, coalesce(reason, ''), attempts FROM backfill.outbox WHERE recipient LIKE 'webhook:t%' ORDER BY message_id}), "pending|stopped|1\npending||0\npending||0\npending||0\npending||0",
	'the one in flight is unknown and tried again; the rest was given back');
is($delivery->sql(q{SELECT state FROM backfill.delivery d JOIN backfill.message m USING (message_id) WHERE recipient LIKE 'webhook:t%' ORDER BY delivery_id LIMIT 1}), 'unknown', 'as its record says');
$receiver->control({ action => 'hang' });
my $impatient = $delivery->follow;
$receiver->wait_for(sub { @_ == 2 });
# Two that come at once are one to the kernel.
while ($impatient->{h}->pumpable) { $impatient->signal('TERM'); $impatient->{h}->pump_nb; }
is($impatient->wait, 143, 'asked twice: it leaves at once');
$delivery->sound('the end');
$receiver->stop;
$delivery->node->stop;
done_testing();
