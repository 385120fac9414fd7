#!/usr/bin/perl
# Shows that each rule of rules.pl can fail, and that what it allows passes. Each breach is a small tree of files.
use strict;
use warnings;
use File::Basename;
use File::Path qw(make_path);
use File::Temp qw(tempdir);

my $rules = dirname(__FILE__) . '/rules.pl';

my @breaches = (
	core_uses_std_only => { 'extension/core/slot.hpp' => "#include <spdlog/spdlog.h>\n" },
	core_uses_std_only => { 'extension/core/slot.hpp' => "#include \"pg/spi.hpp\"\n" },
	core_uses_std_only => { 'extension/core/slot.cpp' => "auto t = std::chrono::system_clock::now();\n" },
	bureau_uses_std_core_and_parsers => { 'extension/bureau/read.cpp' => "#include <libpq-fe.h>\n" },
	bureau_uses_std_core_and_parsers => { 'extension/bureau/read.cpp' => "document.load_file(path);\n" },
	pg_has_no_client_libraries_or_threads => { 'extension/pg/engine/run.cpp' => "#include <thread>\n" },
	worker_does_not_see_the_server => { 'worker/driver.cpp' => "#include \"pg/guard.hpp\"\n" },
	postgres_h_has_one_door => { 'extension/pg/engine/run.cpp' => "#include \"postgres.h\"\n" },
	errors_are_raised_inside_call_only => { 'extension/pg/engine/run.cpp' => "void f() {\n\tSPI_execute(sql, true, 0);\n}\n" },
	errors_are_raised_inside_call_only =>
		{ 'extension/pg/leads/read.cpp' => "Datum f() {\n\tcall([&]() noexcept { SPI_connect(); });\n\treturn TextDatumGetCString(d);\n}\n" },
	nothing_to_destroy_inside_call =>
		{ 'extension/pg/engine/run.cpp' => "void f() {\n\tcall([&]() noexcept {\n\t\tstd::string sql = g();\n\t\tSPI_execute(sql.c_str(), true, 0);\n\t});\n}\n" },
	nothing_to_destroy_inside_call =>
		{ 'extension/pg/engine/run.cpp' => "bool f(List *l) noexcept {\n\tstd::vector<int> v{1};\n\treturn lappend(l, nullptr);\n}\n" },
	files_stay_short => { 'worker/driver.cpp' => "int x;\n" x 451 },
	names_say_something => { 'extension/core/string_utils.hpp' => "\n" },
	names_say_something => { 'worker/common/log.hpp' => "\n" },
	no_machine_paths => { 'test/t/001_x.pl' => "chdir '/home/me/clone';\n" },
	speaks_of_itself_only => { 'extension/core/slot.hpp' => "// see ../shared/design\n" },
	sql_functions_set_search_path =>
		{ 'sql/pg_backfill/10_x.sql' => "CREATE FUNCTION backfill.f() RETURNS void LANGUAGE plpgsql\n\tSET search_path = pg_catalog, pg_temp\nAS \$\$ BEGIN NULL; END \$\$;\n"
			. "CREATE FUNCTION backfill.g() RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN NULL; END \$\$;\n" },
	install_scripts_create_plainly => { 'sql/bt_leads/10_x.sql' => "CREATE TABLE IF NOT EXISTS bt.lead ();\n" },
	white_space_is_tidy => { 'worker/driver.cpp' => "int x; \n" },
	white_space_is_tidy => { 'sql/bt_leads/10_x.sql' => "SELECT\n    1;\n" },
	white_space_is_tidy => { 'README.md' => "no end" },
	libraries_export_sql_entry_points_only => { 'leak.c' => "int pg_backfill_f(void) { return 0; }\nint leaked(void) { return 0; }\n" },
);

my %allowed = (
	'extension/core/slot.hpp' => "#include <string>\n#include \"core/error.hpp\"\n",
	'extension/bureau/read.cpp' => "#include \"bureau/read.hpp\"\n#include <pugixml.hpp>\n",
	'extension/pg/engine/run.cpp' => "void f(const std::string &sql) {\n\tconst char *const text = sql.c_str();\n"
		. "\tcall([&]() noexcept {\n\t\tSPI_execute(text, true, 0); // not: SPI_exec(\n\t});\n\tstd::string s = \"palloc(\";\n}\n"
		. "bool g(const std::vector<int> &v) noexcept {\n\treturn palloc(v.size());\n}\n",
	'sql/bt_leads/10_x.sql' => "CREATE FUNCTION bt.f() RETURNS int LANGUAGE sql RETURN 1;\n-- inlined: every name is qualified\n"
		. "CREATE FUNCTION bt.g() RETURNS int LANGUAGE sql AS \$\$ SELECT 1; \$\$;\n",
);

sub verdicts
{
	my ($files) = @_;
	my $dir = tempdir(CLEANUP => 1);
	for my $path (keys %$files)
	{
		make_path(dirname("$dir/$path"));
		open(my $file, '>', "$dir/$path") or die "$path: $!\n";
		print $file $files->{$path};
		close $file;
		system('cc', '-shared', '-fPIC', '-o', "$dir/leak.so", "$dir/$path") if $path =~ /\.c$/;
	}
	return map { /^(ok|not ok) - (\S+)/ ? ($2 => $1) : () } split /\n/, `perl $rules $dir`;
}

my $failed = 0;
sub report
{
	my ($good, $what) = @_;
	print $good ? 'ok' : 'not ok', " - $what\n";
	$failed ||= !$good;
}

my %shown;
while (my ($rule, $files) = splice(@breaches, 0, 2))
{
	my %verdict = verdicts($files);
	my @tripped = grep { $verdict{$_} eq 'not ok' } keys %verdict;
	$shown{$rule}++;
	report("@tripped" eq $rule, "rule $rule finds breach $shown{$rule}" . ("@tripped" eq $rule ? '' : " (found: @tripped)"));
}
my %verdict = verdicts(\%allowed);
report(!grep({ $_ ne 'ok' } values %verdict), 'rules allow what is allowed');
chomp(my @names = `perl $rules --list`);
report(!grep({ !$shown{$_} } @names), 'every rule is shown to fail');
exit $failed;
