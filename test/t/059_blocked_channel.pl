# Messages that cannot be delivered are in front of those that can.
use strict;
use warnings FATAL => 'all';
use Delivery;
use Receiver;
use Test::More;

my $delivery = Delivery->new('main');
my $http = Receiver->start('http_receiver.py');
my $port = $http->port;
my $folder = $delivery->{folder};
mkdir "$folder/files" or die;
# Nobody listens at port 1.
$delivery->configure(<<"TOML");
[channel.webhook]
kind = "webhook"
allow_plain = true
allow_private = true
retry_seconds = 0.001
retry_longest_seconds = 0.001
breaker_failures = 3
breaker_seconds = 0.001
breaker_longest_seconds = 0.001
[channel.webhook.endpoint.down]
url = "http://127.0.0.1:1/"
[channel.webhook.endpoint.up]
url = "http://127.0.0.1:$port/"
[channel.file]
kind = "file"
directory = "$folder/files"
TOML
$delivery->tell(map({ { recipient => 'webhook:down', type => "m$_" } } 1 .. 8), map({ { recipient => 'webhook:up', type => "m$_" } } 1 .. 20));
my $worker = $delivery->follow;
$delivery->node->poll_query_until('postgres', q{SELECT count(*) = 20 FROM backfill.outbox WHERE recipient = 'webhook:up' AND state = 'sent'})
	or die 'those that can be delivered are not';
is($worker->stop, 0, 'the worker stops');
is($delivery->sql(q{SELECT DISTINCT state, attempts FROM backfill.outbox WHERE recipient = 'webhook:down'}), 'pending|0', 'the others wait, and no attempt was counted');
is(scalar(() = $http->requests), 20, 'each was received once');

# What is the message's own fault ends that message.
$delivery->tell({ recipient => 'file:' . 'x' x 256, type => 'm' }, { recipient => 'file:ok', type => 'm' });
$delivery->deliver;
is($delivery->sql(q{SELECT length(recipient) > 100, state, reason FROM backfill.outbox WHERE recipient LIKE 'file:%' ORDER BY message_id}),
	"t|dead|file_name_too_long\nf|sent|", 'a name that is too long for a file');
$delivery->sound('blocked channel');
done_testing();
