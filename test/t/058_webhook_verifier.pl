# The signature of a webhook, checked by the official verifier of Standard Webhooks (npm).
use strict;
use warnings FATAL => 'all';
use Delivery;
use IPC::Run qw(run);
use JSON::PP;
use MIME::Base64;
use PostgreSQL::Test::Utils;
use Receiver;
use Test::More;

plan skip_all => 'node and npm are not installed' if system('node --version >/dev/null 2>&1 && npm --version >/dev/null 2>&1') != 0;
my $verifier = PostgreSQL::Test::Utils::tempdir() . '/verifier';
system('cp', '-r', "$ENV{TESTDIR}/test/receivers/verifier", $verifier) == 0 or die;
{
	local $ENV{npm_config_cache} = PostgreSQL::Test::Utils::tempdir() . '/npm';
	plan skip_all => 'npm cannot install the verifier' if system("cd '$verifier' && npm ci --no-audit --no-fund --ignore-scripts >/dev/null 2>&1") != 0;
}

my $delivery = Delivery->new('main');
my $receiver = Receiver->http;
my ($new, $old, $other) = map { 'whsec_' . encode_base64($_ x 32, '') } 'n', 'o', 'x';
@ENV{qw(NEW_SECRET OLD_SECRET)} = ($new, $old);
$delivery->configure("[channel.webhook]\nkind = \"webhook\"\nurl = \"" . $receiver->url . "\"\nallow_plain = true\nallow_private = true\nsecret_env = [\"NEW_SECRET\", \"OLD_SECRET\"]\n");
$delivery->tell({ recipient => 'webhook:orders', payload => '{"amount": 1.50, "text": "₹ \" \\\\ नमस्ते"}' });
$delivery->deliver;
my ($request) = $receiver->requests;

sub verdicts
{
	my ($given) = @_;
	my $out = '';
	run([ 'node', "$verifier/verify.js", $new, $old, $other ], '<', \encode_json($given), '>', \$out) or die 'the verifier failed';
	return [ split /\n/, $out ];
}
is_deeply(verdicts($request), [ 'accepted', 'accepted', 'No matching signature found' ], 'accepted with the new secret and with the old one, and with no other');
my $forged = decode_base64($request->{body_base64});
$forged =~ s/1\.50/9.50/ or die;
is_deeply(verdicts({ %$request, body_base64 => encode_base64($forged, '') }), [ ('No matching signature found') x 3 ], 'another body is not');
$delivery->sound('verified');
$receiver->stop;
$delivery->node->stop;
done_testing();
