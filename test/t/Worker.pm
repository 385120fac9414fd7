# The program pg_backfill as a test runs it: to its end, or beside the test. PG_BACKFILL names another build of it.
package Worker;
use strict;
use warnings FATAL => 'all';
use IPC::Run ();
use JSON::PP ();
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);
use Exporter 'import';
our @EXPORT = qw(worker worker_with_input);

my $program = $ENV{PG_BACKFILL} // 'pg_backfill';
my @started;
my $count = 0;

# Exit code, standard output and standard error.
sub worker
{
	my (@arguments) = @_;
	return worker_with_input('', @arguments);
}

sub worker_with_input
{
	my ($in, @arguments) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run [ $program, @arguments ], '<', \$in, '>', \$out, '2>', \$err;
	return ($? >> 8, $out, $err);
}

# my $worker = Worker->start({ environment }, @arguments): runs until it is stopped, or the test ends.
sub start
{
	my ($class, $environment, @arguments) = @_;
	my $base = "$PostgreSQL::Test::Utils::log_path/worker_" . ++$count;
	unlink "$base.out", "$base.log"; # another test's
	my $pid = fork() // die "fork: $!";
	if ($pid == 0)
	{
		local @ENV{ keys %$environment } = values %$environment;
		open(STDIN, '<', '/dev/null') or POSIX::_exit(126);
		open(STDOUT, '>', "$base.out") or POSIX::_exit(126);
		open(STDERR, '>', "$base.log") or POSIX::_exit(126);
		exec($program, @arguments) or POSIX::_exit(127);
	}
	my $self = bless { pid => $pid, base => $base }, $class;
	push @started, $self;
	return $self;
}

sub pid { return $_[0]{pid}; }
sub signal { my ($self, $signal) = @_; kill($signal, $self->{pid}) if defined $self->{pid}; return; }

# The wait status, once it has ended; undef if it does not.
sub wait
{
	my ($self, $seconds) = @_;
	return $self->{status} unless defined $self->{pid};
	for (1 .. 100 * ($seconds // $PostgreSQL::Test::Utils::timeout_default))
	{
		return $self->{status} if $self->has_ended;
		usleep(10_000);
	}
	return;
}

sub has_ended
{
	my ($self) = @_;
	return 1 unless defined $self->{pid};
	return 0 unless waitpid($self->{pid}, POSIX::WNOHANG()) > 0;
	$self->{status} = $?;
	delete $self->{pid};
	return 1;
}

# SIGTERM; the wait status.
sub stop { my ($self) = @_; $self->signal('TERM'); return $self->wait; }

sub text
{
	my ($self, $what) = @_;
	# It may not have got so far as to open it.
	return -e "$self->{base}.$what" ? PostgreSQL::Test::Utils::slurp_file("$self->{base}.$what") : '';
}

# Its log: a hash a line.
sub events
{
	my ($self, $event) = @_;
	my $one = defined $event ? qr/^(\{.*"event":"\Q$event\E".*\}\n)/m : qr/^(\{.*\}\n)/m;
	return map { JSON::PP::decode_json($_) } $self->text('log') =~ /$one/g;
}

# Until its log has enough of these; enough: how many, or a sub that says so of all of them.
sub wait_for
{
	my ($self, $event, $enough) = @_;
	$enough //= 1;
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my $has_ended = $self->has_ended;
		my @events = $self->events($event);
		return @events if ref $enough ? $enough->(@events) : @events >= $enough;
		last if $has_ended;
		usleep(10_000);
	}
	die "the worker did not tell of $event:\n" . $self->text('log');
}

END
{
	my $status = $?;
	for my $worker (grep { defined $_->{pid} } @started)
	{
		$worker->signal('KILL');
		$worker->wait;
	}
	$? = $status;
}

1;
