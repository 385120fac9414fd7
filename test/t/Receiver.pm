# A program of test/receivers that runs beside a test and ends with it.
#
#   my $receiver = Receiver->start('http_receiver.py');     # or Receiver->http
#   $receiver->url; $receiver->port;
#   $receiver->control({ status => 503, times => 2 });      # http_receiver.py says what it understands
#   my @requests = $receiver->requests;                     # what it wrote down, each a hash
#   $receiver->wait_for(sub { @_ >= 3 });                   # until what it wrote down satisfies the test
#   $receiver->stop;                                        # or kill => SIGKILL
package Receiver;

use strict;
use warnings FATAL => 'all';
use HTTP::Tiny;
use IO::Handle;
use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

my @started;

sub http { my ($class, @options) = @_; return $class->start('http_receiver.py', @options); }

# Programs print "ready PORT" when they can be spoken to.
sub start
{
	my ($class, $program, @options) = @_;
	my $record = PostgreSQL::Test::Utils::tempdir() . '/record';
	open(my $empty, '>', $record) or die "$record: $!";
	close $empty;
	my $self = bless { record => $record, program => $program, options => \@options }, $class;
	$self->_run;
	push @started, $self;
	return $self;
}

sub _run
{
	my ($self, @more) = @_;
	my $path = "$ENV{TESTDIR}/test/receivers/$self->{program}";
	my @command = $path =~ /\.py$/ ? ('/usr/bin/python3', $path) : $path =~ /\.m?js$/ ? ('node', $path) : ($path);
	my $pid = open(my $out, '-|') // die "fork: $!";
	if ($pid == 0)
	{
		exec(@command, $self->{record}, @{ $self->{options} }, @more) or POSIX::_exit(127);
	}
	my $ready = <$out> // '';
	$ready =~ /^ready (\d+)/ or die "$self->{program} did not start: $ready";
	@$self{qw(pid out port)} = ($pid, $out, $1);
	return;
}

sub port { return $_[0]{port}; }
sub url { my ($self, $path) = @_; return "http://127.0.0.1:$self->{port}" . ($path // '/'); }

sub control
{
	my ($self, @rules) = @_;
	my $answer = HTTP::Tiny->new->post($self->url('/_control'), { content => encode_json(\@rules) });
	die "control: $answer->{status} $answer->{content}" unless $answer->{success};
	return;
}

# proxy.py: cuts the first connection whose client says that; when: before it arrives, or after it is answered.
sub cut
{
	my ($self, $when, $text) = @_;
	open(my $file, '>', "$self->{record}.new") or die "$self->{record}: $!";
	print $file "$when $text 1\n";
	close $file;
	rename("$self->{record}.new", "$self->{record}.rule") or die "$self->{record}: $!";
	return;
}

sub forget
{
	my ($self) = @_;
	HTTP::Tiny->new->delete($self->url('/_control'))->{success} or die 'control was refused';
	return;
}

sub requests
{
	my ($self) = @_;
	open(my $file, '<:raw', $self->{record}) or die "$self->{record}: $!";
	seek($file, $self->{read} //= 0, 0) or die "$self->{record}: $!";
	while (my $line = <$file>)
	{
		last unless $line =~ /\n\z/;    # it is just being written
		push @{ $self->{requests} }, decode_json($line);
		$self->{read} += length $line;
	}
	return @{ $self->{requests} // [] };
}

sub wait_for
{
	my ($self, $enough) = @_;
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my @requests = $self->requests;
		return @requests if $enough->(@requests);
		usleep(10_000);
	}
	die "$self->{program} did not get what was waited for";
}

sub forget_requests
{
	my ($self) = @_;
	truncate($self->{record}, 0) or die "$self->{record}: $!";
	delete @$self{qw(read requests)};
	return;
}

sub stop
{
	my ($self, $signal) = @_;
	return unless $self->{pid};
	kill($signal // 'TERM', $self->{pid});
	close $self->{out};    # and waits for it
	delete $self->{pid};
	return;
}

# The same again, at the same port.
sub restart
{
	my ($self) = @_;
	$self->stop;
	$self->_run('--port', $self->{port});
	return;
}

END
{
	my $status = $?;
	$_->stop('KILL') for @started;
	$? = $status;
}

1;
