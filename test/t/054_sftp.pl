# SFTP: against a real sshd whose key is checked; files appear whole and are never written over.
use strict;
use warnings FATAL => 'all';
use Delivery;
use PostgreSQL::Test::Utils;
use Receiver;
use Test::More;

my $delivery = Delivery->new('main');
my $folder = PostgreSQL::Test::Utils::tempdir() . '/ssh';
my $target = PostgreSQL::Test::Utils::tempdir() . '/in box';
mkdir $target or die $!;
my $sshd = Receiver->start('sshd', $folder);
my $user = getpwuid($<);

sub channel
{
	my (%changed) = @_;
	my %channel = (host => '"127.0.0.1"', port => $sshd->port, directory => "\"$target\"", user => "\"$user\"", private_key_file => "\"$folder/user_key\"",
		known_hosts => "\"$folder/known_hosts\"", allow_private => 'true', timeout_seconds => 20, lease_seconds => 60, retry_seconds => 0.001, retry_longest_seconds => 0.001, %changed);
	return join "\n", '[channel.sftp]', 'kind = "sftp"', (map { "$_ = $channel{$_}" } grep { defined $channel{$_} } sort keys %channel), '';
}
sub state_of_last { return $delivery->sql('SELECT state, reason, attempts FROM backfill.outbox ORDER BY message_id DESC LIMIT 1'); }
sub path_of_last { return "$target/" . $delivery->sql(q{SELECT substr(recipient, 6) || '/' || receiver_key || '.json' FROM backfill.message ORDER BY message_id DESC LIMIT 1}); }

$delivery->configure(channel());
$delivery->tell({ recipient => 'sftp:partner a/ordérs', payload => '{"n": 1.50, "text": "₹"}' });
my ($code, $out, $err) = $delivery->deliver;
is($code, 0, 'a file is uploaded');
is(slurp_file(path_of_last()), '{"n": 1.50, "text": "₹"}', 'as it is stored');
is(join(' ', map { glob("'$target'/$_") } '*/*/.*.part'), '', 'nothing is left beside it');
unlike("$out$err", qr/ordérs|PRIVATE|\Q$target\E/, 'no path, secret or content in what the worker says');

for my $case ([ 'the same', undef, 'sent||1' ], [ 'something else', 'somebody else was here', 'dead|file_exists|1' ])
{
	my ($name, $content, $end) = @$case;
	$delivery->tell({ recipient => 'sftp:there%' });
	my $path = path_of_last();
	mkdir $path =~ s{/[^/]*$}{}r or die $!;
	my $payload = $content // $delivery->sql('SELECT payload FROM backfill.message ORDER BY message_id DESC LIMIT 1');
	append_to_file($path, $payload);
	$delivery->deliver;
	is(state_of_last(), $end, "a file with $name is there");
	is(slurp_file($path), $payload, "a file with $name: is as it was");
	my ($parent) = $path =~ m{^(.*)/};
	opendir(my $dir, $parent) or die $!;
	is(join(' ', grep { /part/ } readdir $dir), '', "a file with $name: nothing is left beside it");
}
$delivery->sound('files');

# What proves that nothing was sent gives the attempt back.
chmod 0500, $target;
my @cases = (
	[ 'another key of the server', { known_hosts => "\"$folder/wrong_hosts\"" }, 'host_key' ],
	[ 'a fingerprint of another key', { known_hosts => undef, host_key_sha256 => '"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"' }, 'host_key' ],
	[ 'no right to log in', { private_key_file => "\"$folder/other_key\"" }, 'login_denied' ],
	[ 'a private address', { allow_private => 'false' }, 'address_not_allowed' ]);
push @cases, [ 'no right to write', {}, 'sftp_upload_failed' ] if $< != 0;
for my $case (@cases)
{
	my ($name, $changed, $reason) = @$case;
	$delivery->configure(channel(%$changed));
	$delivery->tell({ recipient => 'sftp:not_sent%' });
	$delivery->deliver;
	is(state_of_last(), "pending|$reason|0", $name);
	$delivery->sql("SELECT backfill.discard(message_id, 'end of the case') FROM backfill.undelivered");
}
chmod 0700, $target;

# The key by its fingerprint, as ssh-keygen prints it.
my ($fingerprint) = `ssh-keygen -l -f '$folder/host_key.pub'` =~ /(SHA256:\S+)/;
$fingerprint =~ s/=+$//;
$delivery->configure(channel(known_hosts => undef, host_key_sha256 => "\"$fingerprint\""));
$delivery->tell({ recipient => 'sftp:fingerprint' });
is(($delivery->deliver)[0], 0, 'the right fingerprint');

# A worker that dies between the file and the word: the next one finds the file.
$delivery->configure(channel(lease_seconds => 6, timeout_seconds => 2));
$delivery->tell({ recipient => 'sftp:killed' });
{
	local $ENV{PG_BACKFILL_FAILPOINT} = 'sent';
	is(($delivery->deliver)[0], -9, 'killed after the upload');
}
my $before = (stat path_of_last())[1];
$delivery->wait_until('lease_until < clock_timestamp() FROM backfill.undelivered');
is(($delivery->deliver)[0], 0, 'the next worker');
is(state_of_last(), 'sent||2', 'finds that it is sent');
is((stat path_of_last())[1], $before, 'and leaves the file');
$delivery->sound('the end');
$sshd->stop;
$delivery->node->stop;
done_testing();
