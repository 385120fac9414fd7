# Files that appear whole or not at all and are never written over; channels that only say what they would do; and what
# the configuration refuses.
use strict;
use warnings FATAL => 'all';
use Delivery;
use PostgreSQL::Test::Utils;
use Receiver;
use Test::More;
use Worker ();

my $delivery = Delivery->new('main');
my $folder = PostgreSQL::Test::Utils::tempdir();

# Nothing configured, or the configuration forgotten: only who says so ends what waits. No binding is needed for that.
$delivery->configure('', unbound => 1);
$delivery->tell({ recipient => 'slack:#ops' }, { recipient => 'email:asha@example.com', payload => { secret => 'of asha' } }, { recipient => 'file:x', channel => 'disk' });
my ($code, $out, $err) = $delivery->deliver;
is($code, 2, 'nothing configured: refused');
like($err, qr/^pg_backfill: no channel is configured.*\nHINT:  --config.*--inert/, 'and what to do');
is(($delivery->deliver('--follow'))[0], 2, 'in the background too');
is($delivery->sql(q{SELECT DISTINCT state FROM backfill.outbox}), 'pending', 'all wait as they did');
($code, $out, $err) = $delivery->deliver('--inert');
is($code, 5, 'inert: all are suppressed');
is($delivery->outbox, "slack:#ops|suppressed|inert|0\nemail:asha\@example.com|suppressed|inert|0\nfile:x|suppressed|inert|0", 'never sent, and no attempt counted');
like($err, qr/would_send message=2 channel=smtp type=made key=[0-9a-f-]{36} what="message of \d+ bytes"/, 'the log says what would have been sent');
unlike($err, qr/asha/, 'and no address or content');
$delivery->sql(q{SELECT backfill.requeue(message_id, 'configured now') FROM backfill.message ORDER BY message_id});
$delivery->sound('inert');

# The same in the background.
my $worker = $delivery->follow(inert => 1);
$delivery->wait_until(q{count(*) = 3 FROM backfill.outbox WHERE state = 'suppressed'});
is($worker->stop, 0, 'an inert worker ends when it is asked to');

# serve goes on without channels, and warns of what that ends.
$delivery->sql(q{SELECT backfill.requeue(message_id, 'configured now') FROM backfill.message ORDER BY message_id});
$worker = Worker->start({}, 'serve', '--dbname', $delivery->target, '--config', $delivery->{config}, '--log-format', 'json');
my ($warning) = $worker->wait_for('delivering_nothing');
is("$warning->{level} $warning->{messages}", 'warning 3', 'serve warns of how many messages it ends');
$delivery->wait_until(q{count(*) = 3 FROM backfill.outbox WHERE state = 'suppressed'});
is($worker->stop, 0, 'and ends when it is asked to');
$delivery->sql(q{SELECT backfill.requeue(message_id, 'configured now') FROM backfill.message WHERE channel = 'disk'});

# Files.
sub configure { my ($more) = @_; $delivery->configure("[channel.disk]\nkind = \"file\"\ndirectory = \"$folder\"\nretry_seconds = 0.001\nretry_longest_seconds = 0.001\n$more\n"); return; }
configure('');
($code, $out, $err) = $delivery->deliver;
is($code, 0, 'a file is written');
my $key = $delivery->sql(q{SELECT receiver_key FROM backfill.message WHERE channel = 'disk'});
is(slurp_file("$folder/x/$key.json"), $delivery->sql(q{SELECT payload FROM backfill.message WHERE channel = 'disk'}), 'with the payload as it is stored');
is(join(' ', glob("$folder/x/.*.part")), '', 'nothing is left beside it');

# A message whose file is there already: sent, if it is this very message; refused and left alone, if it is anything else.
for my $case ([ 'the same', undef, 'sent|', 0 ], [ 'something else', 'somebody else was here', 'dead|file_exists', 1 ])
{
	my ($name, $content, $end, $expected) = @$case;
	$delivery->tell({ recipient => 'file:there/%', channel => 'disk' });
	my ($path, $payload) = split /\|/, $delivery->sql(q{SELECT substr(recipient, 6) || '/' || receiver_key || '.json', payload FROM backfill.outbox ORDER BY message_id DESC LIMIT 1});
	system('mkdir', '-p', "$folder/" . ($path =~ s{/[^/]*$}{}r)) == 0 or die;
	append_to_file("$folder/$path", $content // $payload);
	is(($delivery->deliver)[0], $expected, "a file with $name is there");
	is($delivery->sql('SELECT state, reason FROM backfill.outbox ORDER BY message_id DESC LIMIT 1'), $end, "a file with $name: what becomes of the message");
	is(slurp_file("$folder/$path"), $content // $payload, "a file with $name: is as it was");
}
# A template, another suffix.
configure("suffix = \".txt\"\n[template.disk.letter]\nbody = \"Dear {{name}}, {{{amount}}} & {{amount}}\"");
$delivery->tell({ recipient => 'file:letters', type => 'letter', payload => '{"name": "<A>", "amount": 1.50}', channel => 'disk' });
$delivery->deliver;
my ($letter) = glob("$folder/letters/*.txt");
is(slurp_file($letter), 'Dear <A>, 1.50 & 1.50', 'a file by a template, in plain text');

# What cannot be written now gives the attempt back. A recipient that would lead out of the folder is none.
$delivery->configure("[channel.disk]\nkind = \"file\"\ndirectory = \"$folder/absent\"\n");
$delivery->tell({ recipient => 'file:x%', channel => 'disk' }, { recipient => 'webhook:x%', channel => 'disk' });
$delivery->sql(q{SET session_replication_role = replica; UPDATE backfill.message SET recipient = 'file:../../escape' WHERE recipient LIKE 'webhook:x%'});
$delivery->deliver;
is($delivery->sql('SELECT state, reason, attempts FROM backfill.outbox ORDER BY message_id DESC LIMIT 2'), "dead|recipient_invalid|1\npending|file_no_directory|0", 'no folder; and a path that leads elsewhere');
$delivery->sql(q{SET session_replication_role = replica; UPDATE backfill.message SET recipient = 'webhook:x' || message_id WHERE recipient = 'file:../../escape'});
$delivery->sql("SELECT backfill.discard(message_id, 'end of the case') FROM backfill.undelivered");

# An inert channel makes the message all the same, and needs no secret.
$delivery->configure(<<'TOML', delivery => 'inert = true');
[channel.slack]
kind = "slack"
secret_env = "NOT_THERE"
[template.slack.made]
text = "{{absent}}"
TOML
$delivery->tell({ recipient => 'slack:#x' }, { recipient => 'slack:#y', type => 'other' });
($code, $out, $err) = $delivery->deliver;
is($code, 5, 'inert by configuration');
like($err, qr/would_send .* what="" reason=template_field_missing/, 'a template that fails shows here too');
like($err, qr/would_send .* what="Slack message of 1 blocks to #y"/, 'and what would have been sent');
is($delivery->sql(q{SELECT count(*) FROM backfill.outbox WHERE state = 'suppressed' AND reason = 'inert' AND channel = 'slack'}), '3', 'suppressed and not dead');
is(($delivery->worker('channel', 'test', 'slack'))[0], 5, 'a test of an inert channel sends nothing');

# Configurations that are refused, each with the key and what to do.
my $open = $delivery->write_file('open', "x\n", 0644);
for my $case (
	[ "[channel.x]\nkind = \"pigeon\"", qr/channel\.x\.kind has to be one of slack, webhook/ ],
	[ "[channel.x]\nkind = \"slack\"", qr/channel\.x\.secret_file is missing: the webhook's URL is the secret/ ],
	[ "[channel.x]\nkind = \"slack\"\nsecret_env = \"PATH\"\nsecret = \"https://hooks.example/\"", qr/channel\.x\.secret is not known/ ],
	[ "[channel.x]\nkind = \"slack\"\nsecret_env = \"NOT_THERE\"", qr/channel\.x\.secret_env is not set in the environment: NOT_THERE/ ],
	[ "[channel.x]\nkind = \"slack\"\nsecret_file = \"/nowhere/x\"", qr/channel\.x\.secret_file cannot be read/ ],
	[ "[channel.x]\nkind = \"webhook\"\nurl = \"https://x\"\nsecret_file = \"$open\"", qr/secrets of Standard Webhooks/ ],
	[ "[channel.x]\nkind = \"webhook\"\nurl = \"https://x\"\nlease_seconds = 5", qr/lease_seconds has to be at least three times timeout_seconds/ ],
	[ "[channel.x]\nkind = \"smtp\"\nurl = \"smtp://x\"\nfrom = \"a\@b\\r\\nRCPT TO:<c\@d>\"", qr/channel\.x\.from has to be a mail address/ ],
	[ "[channel.x]\nkind = \"sftp\"\nhost = \"x\"\ndirectory = \"/x\"\nuser = \"u\"\nprivate_key_file = \"/k\"", qr/the server's key is always checked/ ],
	[ "[channel.x]\nkind = \"inert\"\n[template.x.y]\ntext = \"z\"", qr/template\.x\.y\.text is not known|is of no use/ ],
	[ "[channel.x]\nkind = \"slack\"\nsecret_env = \"PATH\"\n[template.x.y]\ntext = \"{{#a}}\"", qr/template\.x\.y\.text cannot be read as a template/ ],
	[ "[channel.x]\nkind = \"inert\"\n[template.z.y]\ntext = \"z\"", qr/template\.z is not known/ ])
{
	my ($toml, $complaint) = @$case;
	$delivery->configure($toml, unbound => 1);
	($code, $out, $err) = $delivery->worker('channel', 'list');
	is($code, 2, "refused: $complaint");
	like($err, $complaint, '... and why');
	unlike($err, qr/hooks\.example/, '... without what may be a secret');
}
$delivery->configure("[channel.x]\nkind = \"slack\"\nsecret_file = \"$open\"", unbound => 1);
like(($delivery->worker('channel', 'list'))[2], qr/warning secret_file_is_open_to_others/, 'a secret that others can read is warned of');

# The sample configuration with all of its examples is one that works; being inert it needs no secret.
my $sample = slurp_file("$ENV{TESTDIR}/worker/pg_backfill.toml");
$sample =~ s/^#   //mg;
$sample =~ s/^# inert = false/inert = true/m or die 'no [delivery] in the sample';
$delivery->{config} = $delivery->write_file('sample.toml', $sample);
($code, $out, $err) = $delivery->worker('channel', 'list');
is($code, 0, 'every key of the sample is known');
is(join(' ', $out =~ /^ (\w+) +\| \w+ +\| yes/mg), 'customer_mail disk orders partner slack', 'and its channels are there');
$delivery->sound('the end');
$delivery->node->stop;
done_testing();
