# Mail: against a real server, with what arrives parsed by somebody else's MIME parser.
use strict;
use warnings FATAL => 'all';
use Delivery;
use JSON::PP ();
use MIME::Base64;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Receiver;
use Test::More;

my $delivery = Delivery->new('main');
my $folder = $delivery->{folder};

# An authority of our own, and one that nobody trusts.
sub certificate
{
	my ($name) = @_;
	my @quiet = ('2>/dev/null', '</dev/null');
	system("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=$name -keyout $folder/$name.key -out $folder/$name.crt -addext subjectAltName=IP:127.0.0.1,DNS:localhost @quiet") == 0
		or die 'openssl failed';
	return ("$folder/$name.crt", "$folder/$name.key");
}
my ($ca, $ca_key) = certificate('trusted');
my ($other) = certificate('stranger');
my $smtp = Receiver->start('smtp_receiver.py', '--tls', $ca, $ca_key, '--user', 'mailer', 'pass word');
my $implicit = Receiver->start('smtp_receiver.py', '--tls', $ca, $ca_key, '--implicit');
my $password = $delivery->write_file('password', "pass word\n");

sub channel
{
	my ($more, %changed) = @_;
	my %channel = (url => '"smtp://127.0.0.1:' . $smtp->port . '"', ca_file => "\"$ca\"", user => '"mailer"', secret_file => "\"$password\"",
		from => '"leads@lender.example"', from_name => '"Büro \"Leads\""', allow_private => 'true', retry_seconds => 0.001,
		retry_longest_seconds => 0.001, %changed);
	return join "\n", '[channel.customer_mail]', 'kind = "smtp"', (map { "$_ = $channel{$_}" } grep { defined $channel{$_} } sort keys %channel), $more, '';
}
my $template = <<'TOML';
[template.customer_mail.options_ready]
subject = "{{name}}: ₹ {{amount}} बचत"
text = """
Dear {{name}},
. a line that begins with a dot
..and one with two
₹ {{amount}} """
html = "<p>Dear {{name}}</p><script>{{{raw}}}</script>"
TOML
sub mail { my ($to, $payload) = @_; return { recipient => "email:$to", type => 'options_ready', channel => 'customer_mail', payload => $payload // '{"name": "Asha", "amount": 5, "raw": "x"}' }; }
sub state_of_last { return $delivery->sql('SELECT state, reason, attempts FROM backfill.outbox ORDER BY message_id DESC LIMIT 1'); }

$delivery->configure(channel($template));
my $long = 'न' x 300;
$delivery->tell(mail('asha@customer.example', qq({"name": "Asha <b>&</b> $long", "amount": 1250.50, "raw": "</p>"})));
my ($code, $out, $err) = $delivery->deliver;
is($code, 0, 'a mail is sent');
my ($mail) = $smtp->requests;
my $key = $delivery->sql('SELECT receiver_key FROM backfill.message');
my %header = map { lc $_->[0] => $_->[1] } @{ $mail->{headers} };
sub bytes { my ($text) = @_; utf8::encode($text); return $text; }
is_deeply($mail->{defects}, [], 'a parser finds nothing wrong with it');
is_deeply([ @$mail{qw(from user tls)}, $mail->{to} ], [ 'leads@lender.example', 'mailer', JSON::PP::true, ['asha@customer.example'] ], 'over TLS, after AUTH, from and to whom it should');
is(bytes($mail->{subject}), "Asha <b>&</b> $long: ₹ 1250.50 बचत", 'the subject is UTF-8 and whole, however long');
is(bytes($header{from}), '"Büro \"Leads\"" <leads@lender.example>', 'a name with quotes and an umlaut');
is($header{'message-id'}, "<$key\@lender.example>", 'Message-ID is the key of the message');
is($header{to}, 'asha@customer.example', 'To');
is_deeply($mail->{types}, [ 'multipart/alternative', 'text/plain', 'text/html' ], 'text and HTML');
is(bytes($mail->{text}), "Dear Asha <b>&</b> $long,\n. a line that begins with a dot\n..and one with two\n₹ 1250.50 \n", 'the text, dots and the space at the end too');
is(bytes($mail->{html}), "<p>Dear Asha &lt;b&gt;&amp;&lt;/b&gt; $long</p><script></p></script>\n", 'the HTML is escaped where it was not asked not to be');
is(scalar(grep { length > 78 } split /\r\n/, decode_base64($mail->{data_base64})), 0, 'no line is too long');
unlike("$out$err", qr/asha|pass word|Dear|बचत/i, 'no address, secret or content in what the worker says');
$delivery->sound('sent');

# Nothing that a payload, a template or a recipient says makes a header of its own.
$delivery->configure(channel("$template\n[template.customer_mail.raw]\nsubject = \"{{{raw}}}\"\ntext = \"x\"\n"));
for my $evil ('a\r\nBcc: evil@example.com', 'a\nBcc: evil@example.com', 'a\rBcc: evil@example.com', "a\x{c2}\x{85}Bcc: evil\@example.com", 'a\u2028Bcc: evil@example.com',
	'a\r\n\r\nbody', '=?utf-8?q?a=0d=0aBcc:_evil@example.com?=')
{
	$smtp->forget_requests;
	$delivery->tell({ %{ mail('victim%@customer.example', qq({"raw": "$evil"})) }, type => 'raw' });
	$delivery->deliver;
	my ($got) = $smtp->requests;
	my @names = map { lc $_->[0] } @{ $got->{headers} };
	is_deeply([ sort @names ], [ sort qw(date from to subject message-id auto-submitted x-mailer mime-version content-type content-transfer-encoding) ],
		"no header of its own: $evil");
	is_deeply([ scalar @{ $got->{to} }, $got->{text} ], [ 1, "x\n" ], '... no other recipient, no other body');
}
# The database refuses such recipients; one that got there all the same ends here.
for my $evil ('a@b.example> SIZE=1\r\nRCPT TO:<evil@example.com', 'a@b.example\r\nDATA', '"a b"@c.example')
{
	$smtp->forget_requests;
	$delivery->tell(mail('ok%@customer.example'));
	my $was = $delivery->sql(qq{SET session_replication_role = replica; WITH m AS (SELECT max(message_id) AS id FROM backfill.message)
		UPDATE backfill.message SET recipient = E'email:$evil' WHERE message_id = (SELECT id FROM m) RETURNING message_id});
	$delivery->deliver;
	is(state_of_last(), 'dead|recipient_invalid|1', "no recipient: $evil");
	is(scalar($smtp->requests), 0, '... nothing is sent');
	$delivery->sql("SET session_replication_role = replica; UPDATE backfill.message m SET recipient = 'email:' || split_part(i.recipient, ':', 2) FROM item i WHERE m.message_id = $was AND i.id::text = m.item");
}
$delivery->sound('injection');

# What a server can say; a mail is taken with its last word and not before.
my @cases = (
	[ 'rcpt_550', 'dead|smtp_550|1', 0 ], [ 'data_554', 'dead|smtp_554|1', 1 ], [ 'unseen', 'unknown|connection_lost|1', 0 ],
	[ 'drop', 'unknown|connection_lost|1', 1 ]);
for my $case (@cases)
{
	my ($name, $end, $got) = @$case;
	$smtp->forget_requests;
	$delivery->configure(channel("timeout_seconds = 5\n$template"));
	$delivery->tell(mail("$name\@case%.example"));
	$delivery->deliver;
	is(state_of_last(), $end, "a server that answers to $name");
	is(scalar($smtp->requests), $got, '... has seen it so often');
}
for my $name ('rcpt_450', 'data_451')
{
	$delivery->configure(channel("max_attempts = 3\n$template"));
	$delivery->tell(mail("$name\@case%.example"));
	$delivery->deliver;
	is(state_of_last(), 'dead|attempts_exhausted|3', "$name: tried as often as configured");
}
$smtp->forget_requests;
$delivery->configure(channel("timeout_seconds = 0.5\nlease_seconds = 2\n$template"));
$delivery->tell(mail('hang@case%.example'));
$delivery->deliver;
is(state_of_last(), 'unknown|timeout|1', 'no answer to the data: held, for the mail may be out');
$delivery->deliver;
is(scalar($smtp->requests), 1, 'and not sent again');

# What proves that nothing was sent.
my $wrong = $delivery->write_file('wrong', 'wrong');
for my $case (
	[ 'the wrong password', { secret_file => "\"$wrong\"" }, 'login_denied|smtp_535' ],
	[ 'a certificate that is not trusted', { ca_file => "\"$other\"" }, 'tls' ],
	[ 'a server without STARTTLS', { url => '"smtp://127.0.0.1:' . $implicit->port . '"', timeout_seconds => 1, connect_timeout_seconds => 0.5, lease_seconds => 3 }, 'timeout|tls|connection_lost|curl_8' ],
	[ 'a private address', { allow_private => 'false' }, 'address_not_allowed' ])
{
	my ($name, $changed, $reason) = @$case;
	$smtp->forget_requests;
	$delivery->configure(channel($template, %$changed));
	$delivery->tell(mail('ok@case%.example'));
	$delivery->deliver;
	like(state_of_last(), qr/^pending\|(?:$reason)\|0$/, "$name gives the attempt back");
	is(scalar($smtp->requests), 0, '... and nothing was sent');
	$delivery->sql("SELECT backfill.discard(message_id, 'end of the case') FROM backfill.undelivered");
}

# TLS from the first byte.
$delivery->configure(channel($template, url => '"smtps://127.0.0.1:' . $implicit->port . '"', user => undef, secret_file => undef));
$delivery->tell(mail('asha@implicit.example'));
$delivery->deliver;
is(state_of_last(), 'sent||1', 'smtps');
is(($implicit->requests)[0]{tls}, JSON::PP::true, 'over TLS');
# A type without a template of its own.
$delivery->tell({ recipient => 'email:a@plain.example', type => 'run_summary_1', channel => 'customer_mail',
	payload => '{"pipeline": "leads", "run_id": 1, "window": "x", "candidates": 1, "changed": 1, "unchanged": 0, "skipped": 0, "failed": 0, "newly_failed": 0, "reasons": {}}' },
	{ recipient => 'email:b@plain.example', type => 'other', channel => 'customer_mail', payload => '{"a": 1}' });
$delivery->deliver;
is_deeply([ map { $_->{subject} } ($implicit->requests)[1, 2] ], [ 'leads, x: 1 changed, 0 failed', 'Other' ], 'templates that are built in');
is_deeply(($implicit->requests)[2]{types}, ['text/plain'], 'a mail without HTML has one part');
is(($implicit->requests)[2]{text}, "Other\n\na: 1\n", 'and says what there is');
($code, $out) = $delivery->worker('channel', 'test', 'customer_mail', '--to', 'email:me@example.com');
is($code, 0, 'channel test');
like($out, qr/^customer_mail: accepted: mail of \d+ bytes to somebody at example\.com, key /, 'says what it did');
is(($delivery->worker('channel', 'test', 'customer_mail'))[0], 2, 'and needs to know to whom');
$delivery->sound('the end');
$_->stop for $smtp, $implicit;
$delivery->node->stop;
done_testing();
