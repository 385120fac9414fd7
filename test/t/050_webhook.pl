# Webhooks: what the receiver gets, and what becomes of a message for each thing a receiver can do.
use strict;
use warnings FATAL => 'all';
use Delivery;
use MIME::Base64;
use PostgreSQL::Test::Utils;
use Receiver;
use Test::More;

my $delivery = Delivery->new('main');
my $receiver = Receiver->http;
my $port = $receiver->port;
my ($new, $old) = map { 'whsec_' . encode_base64($_ x 32, '') } 'n', 'o';
my $secret_file = $delivery->write_file('secret', "$new\n");
$ENV{OLD_SECRET} = $old;

sub channel
{
	my ($more, $url) = @_;
	$url //= "http://127.0.0.1:$port/hook";
	return <<"TOML";
[channel.webhook]
kind = "webhook"
url = "$url"
allow_plain = true
allow_private = true
secret_file = "$secret_file"
secret_env = "OLD_SECRET"
retry_seconds = 0.001
retry_longest_seconds = 0.001
$more
TOML
}

# What is stored is what comes out, whatever is in it.
$delivery->configure(channel(''));
my $odd = '{"amount": 12345678901234567890.12345678901234567890, "text": "₹ \"quoted\" \\\\ \u0001 नमस्ते", "b": [1, 2.50], "a": null}';
$delivery->tell({ recipient => 'webhook:orders', payload => $odd });
my ($code, $out, $err) = $delivery->deliver;
is($code, 0, 'delivered');
is($delivery->outbox, 'webhook:orders|sent||1', 'sent at the first attempt');
my ($request) = $receiver->requests;
is(encode_base64($delivery->sql('SELECT encode(convert_to(payload::text, $$UTF8$$), $$hex$$) FROM backfill.message')),
	encode_base64(unpack('H*', decode_base64($request->{body_base64}))), 'the payload is the stored one, byte for byte');
my $key = $delivery->sql('SELECT receiver_key FROM backfill.message');
my %expected = ('idempotency-key' => $key, 'webhook-id' => $key, 'ce-id' => $key, 'ce-specversion' => '1.0', 'ce-type' => 'made',
	'ce-source' => '/pg_backfill/told', 'content-type' => 'application/json');
is($request->{headers}{$_}, $expected{$_}, "header $_") for sort keys %expected;
like($request->{headers}{'webhook-signature'}, qr{^v1,\S{44} v1,\S{44}$}, 'two signatures, as there are two secrets');
unlike($err . $out, qr/whsec|\Q$port\E|नमस्ते|12345678901234567890/, 'neither secret nor address nor payload is in what the worker says');
like($err, qr/delivery message=1 channel=webhook type=made attempt=1 status=sent reason="" ms=/, 'one line a delivery');
$delivery->sound('sent');

# What a receiver can do: the rules for it, and state, reason and attempts after one round, and how often it was asked.
my @cases = (
	[ 'says 503 once', [ { status => 503 } ], 'sent||2', 2 ],
	[ 'says 408, 425 and 500 once each', [ { status => 408 }, { status => 425 }, { status => 500 } ], 'sent||4', 4 ],
	[ 'says 400', [ { status => 400 } ], 'dead|http_400|1', 1 ],
	[ 'says 401', [ { status => 401 } ], 'dead|http_401|1', 1 ],
	[ 'redirects', [ { status => 302, headers => { Location => "http://127.0.0.1:$port/elsewhere" } } ], 'dead|http_302|1', 1 ],
	[ 'cuts the connection after it has read', [ { action => 'reset' } ], 'sent||2', 2 ],
	[ 'answers by half, and with an error at last', [ { status => 422, body => 'x' x 100_000 } ], 'dead|http_422|1', 1 ],
	[ 'is too busy, without saying for how long', [ { status => 429 } ], 'pending|http_429|0', 1 ],
	[ 'is too busy for an hour', [ { status => 429, headers => { 'Retry-After' => 3600 } } ], 'pending|http_429|0', 1 ],
	[ 'is not there for an hour, and says so', [ { status => 503, headers => { 'Retry-After' => 3600 } } ], 'pending|http_503|1', 1 ]);
for my $case (@cases)
{
	my ($name, $rules, $state, $asked) = @$case;
	$receiver->forget_requests;
	$receiver->control(@$rules);
	$delivery->tell({ recipient => 'webhook:orders%' });
	$delivery->deliver;
	my $n = $delivery->sql('SELECT max(message_id) FROM backfill.message');
	is($delivery->sql("SELECT state, reason, attempts FROM backfill.outbox WHERE message_id = $n"), $state, "a receiver that $name");
	my @requests = $receiver->requests;
	is(scalar(@requests), $asked, "a receiver that $name is asked so often");
	is(scalar(grep { $_->{headers}{'idempotency-key'} ne $requests[0]{headers}{'idempotency-key'} } @requests), 0, '... with one key');
	$receiver->forget;
	$delivery->sql("SELECT backfill.discard($n, 'end of the case') WHERE EXISTS (SELECT FROM backfill.undelivered)");
}
is($delivery->sql("SELECT count(*) FROM backfill.outbox WHERE next_attempt_at > now() + interval '50 minutes'"), '0', 'nothing is left waiting');
$delivery->sound('cases');

# How long the receiver asked to wait is kept, to the second.
$receiver->control({ status => 429, headers => { 'Retry-After' => 1000 } });
$delivery->tell({ recipient => 'webhook:orders%' }, { recipient => 'webhook:other%' });
$delivery->deliver;
is($delivery->sql("SELECT count(*) FROM backfill.outbox WHERE state = 'pending' AND reason = 'http_429' AND next_attempt_at BETWEEN now() + interval '900 seconds' AND now() + interval '1000 seconds'"),
	'1', 'the message waits as long as it was asked to');
is($delivery->sql("SELECT attempts FROM backfill.outbox WHERE recipient LIKE 'webhook:other%' ORDER BY message_id DESC LIMIT 1"), '0', 'the rest of the claim was given back');
$delivery->sql("SELECT backfill.discard(message_id, 'end of the case') FROM backfill.undelivered");

# Time-out after the request was written: unknown, and sent again with the same key, for the receiver can tell.
$delivery->configure(channel("timeout_seconds = 0.3\nlease_seconds = 1"));
$receiver->forget_requests;
$receiver->control({ action => 'hang' }, { action => 'half' });
$delivery->tell({ recipient => 'webhook:orders%' });
($code, $out, $err) = $delivery->deliver;
is($delivery->sql('SELECT state, attempts FROM backfill.outbox ORDER BY message_id DESC LIMIT 1'), 'sent|3', 'sent in the end');
is($delivery->sql('SELECT state, reason FROM backfill.delivery WHERE message_id = (SELECT max(message_id) FROM backfill.message) ORDER BY delivery_id'),
	"unknown|timeout\nunknown|timeout\nsent|", 'unknown twice before');
is($code, 1, 'which is worth an exit code');
is(scalar($receiver->requests), 3, 'the receiver got it three times');

# Where it cannot tell, a person decides.
$delivery->configure(channel("timeout_seconds = 0.3\nlease_seconds = 1\nwhen_unknown = \"hold\""));
$receiver->forget_requests;
$receiver->control({ action => 'hang' }, { action => 'reset' });
$delivery->tell({ recipient => 'webhook:orders%' }, { recipient => 'webhook:other%' });
$delivery->deliver;
is($delivery->sql('SELECT state, reason FROM backfill.outbox ORDER BY message_id DESC LIMIT 2'), "unknown|connection_lost\nunknown|timeout", 'held: both are unknown');
$delivery->deliver;
is(scalar($receiver->requests), 2, 'held: the receiver got each once');
$delivery->sound('unknown');

# What proves that nothing was sent gives the attempt back.
my $free = PostgreSQL::Test::Cluster::get_free_port();
for my $case ([ "http://127.0.0.1:$free/", 'connection_refused' ], [ 'http://no.such.host.invalid/', 'name_lookup' ],
	[ "https://127.0.0.1:$port/", 'tls' ], [ 'ftp://127.0.0.1/', 'protocol_not_allowed' ])
{
	my ($url, $reason) = @$case;
	$delivery->configure(channel('', $url));
	$delivery->tell({ recipient => 'webhook:orders%' });
	$delivery->deliver;
	like($delivery->sql('SELECT state, reason, attempts FROM backfill.outbox ORDER BY message_id DESC LIMIT 1'), qr/^pending\|$reason\|0$/, "$reason gives the attempt back");
	$delivery->sql("SELECT backfill.discard(message_id, 'end of the case') FROM backfill.undelivered");
}

# Addresses that are not public, by name or written in any way.
for my $host ('127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', '2130706433', '0', '169.254.169.254', '10.0.0.1')
{
	$receiver->forget_requests;
	my $toml = channel('', "http://$host:$port/");
	$toml =~ s/allow_private = true\n//;
	$delivery->configure($toml);
	$delivery->tell({ recipient => 'webhook:orders%' });
	$delivery->deliver;
	is($delivery->sql('SELECT state, reason FROM backfill.outbox ORDER BY message_id DESC LIMIT 1'), 'pending|address_not_allowed', "$host is refused");
	is(scalar($receiver->requests), 0, '... before anything is sent');
	$delivery->sql("SELECT backfill.discard(message_id, 'end of the case') FROM backfill.undelivered");
}

# No proxy is taken from the environment.
{
	local @ENV{qw(http_proxy HTTP_PROXY all_proxy)} = ("http://127.0.0.1:$free") x 3;
	$delivery->configure(channel(''));
	$delivery->tell({ recipient => 'webhook:orders%' });
	$delivery->deliver;
	is($delivery->sql('SELECT state FROM backfill.outbox ORDER BY message_id DESC LIMIT 1'), 'sent', 'a proxy of the environment is not asked');
}
$delivery->sound('the end');
$receiver->stop;
$delivery->node->stop;
done_testing();
