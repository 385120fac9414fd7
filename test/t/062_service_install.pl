# What `make install-service` installs, into a folder of its own: a unit that starts the program, the user it runs as, a
# configuration that the program reads. Nothing of it needs a running systemd.
use strict;
use warnings FATAL => 'all';
use File::Temp ();
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Worker;

# What the outer make was called with is not for this one.
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES)};
my $root = PostgreSQL::Test::Utils::tempdir();

sub make
{
	my ($target) = @_;
	my $out;
	my $done = IPC::Run::run([ 'make', '-C', $ENV{TESTDIR}, $target, "DESTDIR=$root" ], '>&', \$out);
	ok($done, "make $target") or diag $out;
	return;
}

make('install-service');
my ($unit) = glob "$root/usr/lib/systemd/system/pg_backfill.service";
my $text = slurp_file($unit);
unlike($text, qr/@\w+@/, 'the unit is complete');
my ($program, $config) = $text =~ m{^ExecStart=(/\S+/pg_backfill) serve --config (/\S+)$}m;
ok(-x ($program // ''), 'the unit starts a program that is there');
is(readlink "$root/usr/local/bin/pg_backfill", $program, 'which is on the PATH');
my ($code, $out, $err) = worker('-c', "$root$config", 'channel', 'list');
is($code, 0, 'the configuration that it names can be read') or diag $err;
my ($user) = $text =~ /^User=(\w+)$/m;
like(slurp_file("$root/usr/lib/sysusers.d/pg_backfill.conf"), qr/^u \Q$user\E - /m, 'the unit\'s user is made');
unlike($user, qr/^pg_/, 'and a role may have its name');

SKIP:
{
	IPC::Run::run([ 'sh', '-c', 'command -v systemd-analyze' ], '>', \my $analyze) or skip 'no systemd-analyze', 1;
	IPC::Run::run([ 'systemd-analyze', 'verify', '--man=no', '--recursive-errors=no', $unit ], '<', \undef, '>&', \my $found);
	is($found, '', 'systemd has nothing to say against the unit');
}

# Once more, over a configuration that somebody has written.
PostgreSQL::Test::Utils::append_to_file("$root$config", "# ours\n");
make('install-service');
like(slurp_file("$root$config"), qr/^# ours$/m, 'installed again: the configuration stays');
make('uninstall-service');
ok(!-e $unit && !-l "$root/usr/local/bin/pg_backfill" && !-e "$root/usr/lib/sysusers.d/pg_backfill.conf", 'uninstalled');
ok(-e "$root$config", 'uninstalled: the configuration stays');
done_testing();
