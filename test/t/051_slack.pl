# Slack: what is posted, within its limits and at its pace, and what becomes of a message for each thing it can say.
use strict;
use warnings FATAL => 'all';
use Delivery;
use Encode qw(decode);
use JSON::PP;
use MIME::Base64;
use PostgreSQL::Test::Utils;
use Receiver;
use Test::More;

# Bytes all the way: what was posted, as perl's values of UTF-8 bytes.
sub posted { my ($request) = @_; return JSON::PP->new->decode(decode_base64($request->{body_base64})); }

my $delivery = Delivery->new('main');
my $slack = Receiver->http;
$ENV{SLACK_URL} = $slack->url('/services/T0/B0/secret');
$ENV{OTHER_URL} = $slack->url('/services/T0/B1/secret');

sub channel
{
	my ($more) = @_;
	return <<"TOML";
[channel.slack]
kind = "slack"
secret_env = "SLACK_URL"
allow_plain = true
allow_private = true
retry_seconds = 0.001
retry_longest_seconds = 0.001
$more
TOML
}

my $fast = "per_second = 0\n";
$delivery->configure(channel($fast) . <<'TOML');
[channel.slack.recipient."#other"]
secret_env = "OTHER_URL"
[template.slack.offer]
text = "*{{name}}* is offered {{amount}}{{#note}} ({{note}}){{/note}}"
fallback = "{{name}}: {{amount}}"
TOML

# A run's summary, by the template that is built in; the type carries an ordinal.
my $summary = q({"pipeline": "leads <&>", "run_id": 7, "window": "2026-11-03", "candidates": 10, "changed": 3, "unchanged": 4, "skipped": 2, "failed": 1, "newly_failed": 1, "reasons": {"no_report": 2, "22012": 1}});
$delivery->tell({ recipient => 'slack:#ops', type => 'run_summary_2', payload => $summary });
my ($code, $out, $err) = $delivery->deliver;
is($code, 0, 'a summary is sent');
my ($request) = $slack->requests;
my $body = posted($request);
is($request->{path}, '/services/T0/B0/secret', 'to the hook');
is($body->{text}, 'leads &lt;&amp;&gt;, 2026-11-03: 3 changed, 1 failed of 10', 'with a text for where blocks are not shown, escaped');
my $text = join '', map { $_->{text}{text} } @{ $body->{blocks} };
like($text, qr/^\*leads &lt;&amp;&gt;\*, 2026-11-03: 3 changed, 1 failed \(1 new\).*no_report: 2.*runs show 7/s, 'and blocks that tell the rest');
unlike("$out$err", qr/secret|leads </, 'neither the hook nor the content is in what the worker says');

# What the engine itself tells: a run that changed something, an alarm and its end. No template of ours may ask for what is not there.
$slack->forget_requests;
$delivery->sql(q{SELECT backfill.alter_pipeline('told', summary_to => 'slack:#dawn')});
$delivery->tell({ recipient => 'file:nowhere', type => 'made', channel => 'nobody' });
$delivery->sql(q{SELECT backfill._raise_alarm(p, 'silence', '', '{"usual": 40}', NULL), backfill._close_alarm(p, 'silence', '', NULL) FROM backfill.pipeline p WHERE name = 'told'});
$delivery->sql(q{SELECT backfill.alter_pipeline('told', summary_to => '')});
is(($delivery->deliver)[0], 0, 'what the engine tells is sent');
my @told = map { join '', map { $_->{text}{text} } @{ posted($_)->{blocks} } } $slack->requests;
like($told[0], qr/^\*told\*, \d{4}-\d\d-\d\d: 1 changed, 0 failed \(0 new\), 0 skipped, \d+ unchanged of \d+\n`pg_backfill runs show \d+` tells the story$/, 'a run, by its local day, and where its story is');
like($told[1], qr/^:rotating_light: \*told\*: no candidates, where there usually are 40\n`SELECT .* WHERE alarm_id = \d+` has the numbers, `pg_backfill doctor` /, 'an alarm, and what to do next');
like($told[2], qr/^:white_check_mark: \*told\*: no candidates/, 'and its end');
is(scalar(@told), 3, 'nothing else');

# A template of the configuration, escaping, optional parts, numbers as they are; fields that are not there.
$slack->forget_requests;
$delivery->tell(
	{ recipient => 'slack:#other', type => 'offer', payload => '{"name": "<!channel> & Söhne", "amount": 12345678901234567890.10, "note": null}' },
	{ recipient => 'slack:#b', type => 'offer', payload => '{"name": "b", "amount": 1, "note": "n"}' },
	{ recipient => 'slack:#c', type => 'offer', payload => '{"name": "c", "amount": null}' },
	{ recipient => 'slack:#d', type => 'offer', payload => '{"amount": 1}' },
	{ recipient => 'slack:#e', type => 'offer', payload => '{"name": {"first": "x"}, "amount": 1}' },
	{ recipient => 'slack:#f', type => 'anything', payload => '{"a": 1, "b": "x", "c": {"d": 1}, "e": true}' },
	{ recipient => 'slack:#g', type => 'scalar', payload => '"a text"' });
($code, $out, $err) = $delivery->deliver;
is($code, 1, 'three payloads fail');
is($delivery->sql("SELECT recipient, state, reason FROM backfill.outbox WHERE recipient LIKE 'slack:#_' OR recipient = 'slack:#other' ORDER BY recipient"), join("\n",
	'slack:#b|sent|', 'slack:#c|dead|template_field_missing', 'slack:#d|dead|template_field_missing', 'slack:#e|dead|template_field_not_text',
	'slack:#f|sent|', 'slack:#g|sent|', 'slack:#other|sent|'), 'a payload without a needed field fails its message, and not the channel');
my %text = map { my $b = posted($_); $b->{text} => $b->{blocks}[0]{text}{text} } $slack->requests;
is($text{'&lt;!channel&gt; &amp; Söhne: 12345678901234567890.10'}, '*&lt;!channel&gt; &amp; Söhne* is offered 12345678901234567890.10',
	'what a payload says is no markup, and numbers keep their digits');
is($text{'b: 1'}, '*b* is offered 1 (n)', 'a part that is there only with its field');
is($text{'Anything: told'}, "*Anything* · told\n• a: 1\n• b: x\n• e: true\n", 'a message that nobody made a template for');
is(join(' ', sort map { $_->{path} =~ m{/(B\d)/} } $slack->requests), 'B0 B0 B0 B1', 'a recipient with a hook of its own gets it there');
$delivery->sound('templates');

# Long texts: at most 50 blocks of at most 3000 characters.
$slack->forget_requests;
$delivery->tell({ recipient => 'slack:#long', type => 'anything', payload => { map { ("line$_" => 'é & ' x 120) } 1 .. 250 } });
is(($delivery->deliver)[0], 0, 'a very long one is sent');
$body = posted(($slack->requests)[0]);
cmp_ok(scalar(@{ $body->{blocks} }), '<=', 50, 'in no more blocks than Slack takes');
is(scalar(grep { length(decode('UTF-8', $_->{text}{text})) > 3000 } @{ $body->{blocks} }), 0, 'none longer than Slack takes');
like($body->{blocks}[-1]{text}{text}, qr/left out/, 'and it says that something is missing');

# What Slack can say.
my @cases = (
	[ 400, 'invalid_payload', 'dead|slack_invalid_payload' ], [ 400, 'invalid_blocks', 'dead|slack_invalid_blocks' ],
	[ 403, 'action_prohibited', 'dead|slack_action_prohibited' ], [ 404, 'channel_not_found', 'dead|slack_channel_not_found' ],
	[ 404, 'no_service', 'dead|slack_no_service' ], [ 410, 'channel_is_archived', 'dead|slack_channel_is_archived' ],
	[ 400, '<html>Something else</html>', 'dead|http_400' ], [ 500, 'rollup_error', 'sent|' ]);
for my $case (@cases)
{
	my ($status, $word, $end) = @$case;
	$slack->control({ status => $status, body => $word });
	$delivery->tell({ recipient => 'slack:#case_%' });
	$delivery->deliver;
	is($delivery->sql('SELECT state, reason FROM backfill.outbox ORDER BY message_id DESC LIMIT 1'), $end, "Slack says $status $word");
	$slack->forget;
}
is($delivery->sql("SELECT count(*) FROM backfill.delivery WHERE reason = 'slack_rollup_error'"), '1', 'an error that may pass is told apart');

# Refusals of the hook itself stop the channel before it has used up what waits.
$slack->forget_requests;
$slack->control({ status => 404, body => 'no_service', times => 0 });
$delivery->tell(map { { recipient => 'slack:#many_%' } } 1 .. 20);
$delivery->deliver;
is($delivery->sql("SELECT state, count(*) FROM backfill.outbox WHERE recipient LIKE 'slack:#many%' GROUP BY 1 ORDER BY 1"), "dead|5\npending|15", 'a hook that is gone costs as many messages as the breaker takes');
$slack->forget;

# The pace: messages are claimed one by one and go one a second, unless Slack asks for more.
$slack->forget_requests;
$delivery->configure(channel("per_second = 4\n"));
$delivery->sql("SELECT backfill.discard(message_id, 'end of the case') FROM backfill.undelivered");
$delivery->tell(map { { recipient => 'slack:#pace_%' } } 1 .. 5);
my ($began) = $delivery->sql('SELECT extract(epoch FROM clock_timestamp())');
$delivery->deliver;
my $took = $delivery->sql('SELECT extract(epoch FROM clock_timestamp())') - $began;
is(scalar($slack->requests), 5, 'all were sent');
cmp_ok($took, '>=', 1, 'five at four a second take a second');
$delivery->configure(channel(''));
like(($delivery->worker('channel', 'list'))[1], qr/slack +\| slack +\| no +\| hold +\| +1 \| +1 \| +1 \|/, 'one a second, one at a time, and held when unknown: unless configured otherwise');

# After "too many" nobody is asked again for as long as it said.
$delivery->configure(channel($fast));
$slack->forget_requests;
$slack->control({ status => 429, headers => { 'Retry-After' => 30 }, body => 'rate_limited' });
$delivery->tell(map { { recipient => 'slack:#busy_%' } } 1 .. 5);
$delivery->deliver;
is(scalar($slack->requests), 1, 'too many: one request was refused and no other made');
is($delivery->sql("SELECT count(*), max(attempts) FROM backfill.outbox WHERE recipient LIKE 'slack:#busy%' AND state = 'pending'"), '5|0', 'and no attempt was used up');

# A test message, by hand.
$slack->forget_requests;
($code, $out) = $delivery->worker('channel', 'test', 'slack');
is($code, 0, 'channel test');
like($out, qr/^slack: accepted: Slack message of 1 blocks to #test, key [0-9a-f-]{36}\n$/, 'says what it did');
like(($slack->requests)[0]{body}, qr/This is a test of channel slack by pg_backfill/, 'and did it');
unlike($out, qr/secret/, 'without telling the secret');
($code, $out, $err) = $delivery->worker('channel', 'test', 'nowhere');
is($code, 2, 'channel test: an unknown channel');
like($err, qr/channel nowhere is not configured\nHINT: /, 'says what to do');
$delivery->sound('the end');
$slack->stop;
$delivery->node->stop;
done_testing();
