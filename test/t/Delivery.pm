# A server whose pipeline tells what a table says, and a worker that delivers it.
#
#   my $delivery = Delivery->new('main');
#   $delivery->configure(<<"TOML");             # [delivery] is there; adds channels and templates, and binds the worker
#   $delivery->tell({ recipient => 'slack:#ops', type => 'made', payload => { ... }, channel => 'slack' }, ...);
#   my ($code, $out, $err) = $delivery->deliver;             # once
#   my $worker = $delivery->follow;  $worker->{h}->...        # until it is stopped
#   $delivery->outbox;                                       # recipient|state|reason|attempts, a line each
package Delivery;

use strict;
use warnings FATAL => 'all';
use IPC::Run qw(run start);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $canonical = JSON::PP->new->utf8->canonical->allow_nonref;

sub new
{
	my ($class, $name, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%init);
	$node->append_conf('postgresql.conf', "backfill.narrate = 'none'\nclient_min_messages = warning\nfsync = off\nautovacuum = off");
	$node->start;
	my $self = bless { node => $node, database => 'postgres', folder => PostgreSQL::Test::Utils::tempdir(), next => 1 }, $class;
	$self->sql(<<'SQL');
CREATE EXTENSION pg_backfill;
SELECT backfill.create_roles();
CREATE ROLE worker LOGIN IN ROLE backfill_worker;
CREATE TABLE item (id bigint PRIMARY KEY, recipient text, type text, payload text, channel text, arrived_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON item (arrived_at);
CREATE TABLE output (id bigint PRIMARY KEY);
SELECT backfill.create_pipeline('told', 'SELECT id, arrived_at FROM public.item WHERE arrived_at >= $1 AND arrived_at < $2', delivery_max_age => '1 day');
SELECT backfill.add_batch_step('told', 'tell',
	'SELECT k FROM unnest($1) k LEFT JOIN public.output o ON o.id = k WHERE o.id IS NULL',
	$$ WITH made AS (INSERT INTO public.output SELECT unnest($1))
		SELECT backfill.emit(i.recipient, i.type, i.payload::jsonb, i.channel, i.id::text) FROM public.item i WHERE i.id = ANY ($1) ORDER BY i.id $$);
SQL
	return $self;
}

sub node { return $_[0]{node}; }

sub sql
{
	my ($self, $sql, $database) = @_;
	return $self->{node}->safe_psql($database // $self->{database}, $sql);
}

# A % in the recipient becomes a number, since nobody is told the same twice. payload: text of JSON, or what becomes one.
sub tell
{
	my ($self, @messages) = @_;
	my @rows;
	for my $message (@messages)
	{
		my $payload = $message->{payload} // { n => $self->{next} };
		$payload = $canonical->encode($payload) if ref $payload;
		my ($recipient, $type, $channel) = ($message->{recipient}, $message->{type} // 'made', $message->{channel});
		$recipient =~ s/%/$self->{next}/;
		$channel = defined $channel ? "\$q\$$channel\$q\$" : 'NULL';
		push @rows, "($self->{next}, \$q\$$recipient\$q\$, '$type', \$q\$$payload\$q\$, $channel)";
		$self->{next}++;
	}
	$self->sql('INSERT INTO item VALUES ' . join(', ', @rows) . "; CALL backfill.run('told');");
	return;
}

sub outbox { return $_[0]->sql('SELECT recipient, state, reason, attempts FROM backfill.outbox ORDER BY message_id'); }

sub sound
{
	my ($self, $name) = @_;
	is($self->sql('SELECT * FROM backfill.check_invariants()'), '', "$name: the invariants hold");
	return;
}

sub write_file
{
	my ($self, $name, $content, $mode) = @_;
	my $path = "$self->{folder}/$name";
	open(my $file, '>:raw', $path) or die "$path: $!";
	print $file $content;
	close $file;
	chmod($mode // 0600, $path) or die "$path: $!";
	return $path;
}

sub configure
{
	my ($self, $channels, %also) = @_;
	my $delivery = $also{delivery} // '';
	$self->{config} = $self->write_file('worker.toml', <<"TOML" . $channels);
[delivery]
binding_file = "$self->{folder}/binding"
poll_seconds = 0.02
rescan_seconds = 0.05
$delivery
TOML
	return if $also{unbound};
	my ($code, $out, $err) = $self->worker('bind', '--keep-claims');
	$code == 0 or die "bind: $err";
	return;
}

sub target
{
	my ($self, $port) = @_;
	return $self->{target} // $self->{node}->connstr($self->{database}) . ' user=worker';
}

sub command
{
	my ($self, @arguments) = @_;
	return ($ENV{PG_BACKFILL} // 'pg_backfill', @arguments, '--dbname', $self->target, '--config', $self->{config}, '--log-format', 'text');
}

# Exit code, standard output and error of the program.
sub worker
{
	my ($self, @arguments) = @_;
	my ($out, $err) = ('', '');
	run([ $self->command(@arguments) ], '<', \undef, '>', \$out, '2>', \$err);
	note $err if $err;
	return (($? & 127) ? -($? & 127) : $? >> 8, $out, $err);
}

sub deliver { my ($self, @arguments) = @_; return $self->worker('deliver', @arguments); }

# A worker in the background; ends with stop() or by itself.
sub follow
{
	my ($self, %environment) = @_;
	my $inert = delete $environment{inert} ? ['--inert'] : [];
	my $worker = { out => '', err => '' };
	local @ENV{ keys %environment } = values %environment;
	$worker->{h} = start([ $self->command('deliver', '--follow', @$inert) ], '<', \undef, '>', \$worker->{out}, '2>', \$worker->{err});
	return bless $worker, 'Delivery::Worker';
}

# Does something with the engine's clock standing still so many seconds from now, for sessions that begin meanwhile.
sub later
{
	my ($self, $seconds, $what) = @_;
	my $set = "DO \$\$ BEGIN EXECUTE format('ALTER DATABASE %I SET backfill.test_clock_seconds = %L', current_database(), extract(epoch FROM clock_timestamp()) + $seconds); END \$\$";
	$self->sql($set);
	my @result = $what->();
	$self->sql('DO $$ BEGIN EXECUTE format($q$ALTER DATABASE %I RESET backfill.test_clock_seconds$q$, current_database()); END $$');
	return @result;
}

sub wait_until
{
	my ($self, $sql) = @_;
	$self->{node}->poll_query_until($self->{database}, "SELECT $sql") or die "it did not come: $sql";
	return;
}

package Delivery::Worker;

sub signal { my ($self, $signal) = @_; $self->{h}->signal($signal); return; }

# Until it has said that.
sub wait_for_word { my ($self, $what) = @_; $self->{h}->pump until $self->{err} =~ $what; return; }

# Its exit code, or minus the signal that ended it.
sub wait
{
	my ($self) = @_;
	IPC::Run::finish($self->{h});
	my $result = ($self->{h}->full_results)[0];
	return ($result & 127) ? -($result & 127) : $result >> 8;
}

sub stop
{
	my ($self) = @_;
	$self->signal('TERM');
	return $self->wait;
}

1;
