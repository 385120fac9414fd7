# The program pg_backfill as a test runs it.
package Worker;
use strict;
use warnings FATAL => 'all';
use IPC::Run ();
use Exporter 'import';
our @EXPORT = qw(worker worker_with_input);

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
	IPC::Run::run [ 'pg_backfill', @arguments ], '<', \$in, '>', \$out, '2>', \$err;
	return ($? >> 8, $out, $err);
}

1;
