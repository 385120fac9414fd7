#!/usr/bin/perl
# rules.pl DIR: the rules that no compiler sees, as one TAP line a rule. rules.pl --list: their names.
use strict;
use warnings;
use File::Find;

my $root = shift // '.';
my (%text, @paths); # what people wrote, by path; what they named

sub read_tree
{
	my $is_built = qr{^(?:\.git|build|results|tmp_check\w*|node_modules)(?:/|$)|^sql/[^/]+--|\.(?:o|d|so|bc)$};
	find({ no_chdir => 1, wanted => sub {
		return if $File::Find::name eq $root;
		my $path = substr($File::Find::name, length($root) + 1);
		if ($path =~ $is_built) { $File::Find::prune = 1; return; }
		push @paths, $path;
		return unless -f $File::Find::name && -T _ && $path !~ m{^test/data/};
		open(my $file, '<', $File::Find::name) or die "$path: $!\n";
		local $/;
		$text{$path} = <$file> // '';
	} }, $root);
}

# Lines of the chosen files that match; each as file:line: text.
sub matches
{
	my ($files, $pattern, $but) = @_;
	my @found;
	for my $path (sort grep { $_ =~ $files } keys %text)
	{
		my $number = 0;
		for my $line (split /\n/, $text{$path}, -1)
		{
			$number++;
			push @found, "$path:$number: $line" if $line =~ $pattern && !(defined $but && $line =~ $but);
		}
	}
	return @found;
}

# C++ with comments and literals blanked out, lines kept.
sub code_of
{
	my ($source) = @_;
	my $blank = sub { my $s = shift; $s =~ s/[^\n]/ /g; return $s; };
	$source =~ s{(//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*')}{$blank->($1)}gse;
	return $source;
}

# The bodies of noexcept functions and lambdas, as [start, end) in the code.
sub noexcept_bodies
{
	my ($code) = @_;
	my @bodies;
	while ($code =~ /\bnoexcept\s*(?:->\s*[\w:<>*& ]+?)?\s*\{/g)
	{
		my ($start, $depth, $at) = (pos($code), 1, pos($code));
		while ($depth > 0 && $at < length $code)
		{
			my $char = substr($code, $at++, 1);
			$depth += $char eq '{' ? 1 : $char eq '}' ? -1 : 0;
		}
		push @bodies, [ $start, $at ];
	}
	return @bodies;
}

sub line_at
{
	my ($code, $at) = @_;
	return 1 + (substr($code, 0, $at) =~ tr/\n//);
}

# Functions and macros of PostgreSQL that may raise an error; not a list of all, but of what this code could use.
my $may_raise = qr/\b(?:
	ereport | elog | PG_TRY | PG_CATCH | PG_RE_THROW | CHECK_FOR_INTERRUPTS | check_stack_depth |
	SPI_(?!processed\b|tuptable\b|result\b|OK_|ERROR_)\w+ |
	palloc\w* | repalloc\w* | pstrdup | pnstrdup | psprintf | MemoryContext(?:Alloc|StrDup|Create)\w* |
	AllocSetContextCreate\w* | initStringInfo | appendStringInfo\w* | makeStringInfo | lappend\w* | list_concat\w* |
	\w*FunctionCall(?!Info)\w* | fmgr_info\w* | construct_\w*array\w* | deconstruct_array\w* | array_iterate\w* |
	cstring_to_text\w* | text_to_cstring\w* | TextDatumGetCString | CStringGetTextDatum | PG_DETOAST_\w+ | DatumGet\w+P(?:P|Copy|Slice)* |
	PG_GETARG_(?:TEXT|BYTEA|VARCHAR|VARLENA|ARRAYTYPE|HEAPTUPLEHEADER|JSONB|NUMERIC)\w* | pg_detoast_\w+ |
	heap_form_tuple | heap_deform_tuple | heap_getattr | GetAttributeByN\w+ | BlessTupleDesc | lookup_rowtype_tupdesc\w* | get_call_result_type |
	SearchSysCache\w* | GetSysCache\w* | SysCacheGetAttr\w* | lookup_type_cache | table_open\w* | relation_open | try_relation_open | index_open |
	get_(?:namespace|array|type|rel|role|attnum|atttype|func|element|database|typ)\w* | getTypeOutputInfo | getTypeInputInfo | format_type_\w+ |
	datumCopy | datumTransfer | superuser(?:_arg)? | has_privs_of_role | pg_class_aclcheck | GetConfigOption\w* | SetConfigOption\w* | set_config_option |
	BeginInternalSubTransaction | ReleaseCurrentSubTransaction | RollbackAndReleaseCurrentSubTransaction |
	PushActiveSnapshot | GetTransactionSnapshot | LockAcquire\w* | LockRelease\w* | tuplestore_\w+ | InitMaterializedSRF | InitSRF | SetSingleFuncCall |
	Async_Notify | DirectInputFunctionCall\w*
)\s*\(/x;

# Their destructors would be jumped over. Views, spans and pairs of plain data have none worth running.
my $has_destructor = qr/\bstd::(?:
	string | vector | deque | list | map | set | unordered_\w+ | multi\w+ | function | any | thread |
	unique_ptr | shared_ptr | lock_guard | unique_lock | scoped_lock | to_string | optional\s*<\s*std::(?:string|vector) |
	[io]?(?:string|f)stream | exception_ptr
)\b(?!_view)(?![^;{}()]*[&*]\s*(?:const\s+)?\w+\s*[=:)])/x;

sub longjmp_outside
{
	my @found;
	for my $path (sort grep { m{^extension/pg/.*\.[ch]pp$} && !m{^extension/pg/guard\.} } keys %text)
	{
		my $code = code_of($text{$path});
		$code =~ s/^[ \t]*#.*$/' ' x length($&)/gme;
		my @bodies = noexcept_bodies($code);
		while ($code =~ /$may_raise/g)
		{
			my ($at, $call) = ($-[0], $&);
			next if substr($code, $at > 1 ? $at - 2 : 0, 2) =~ /::|->|\.$/; # a member, or a name of ours
			next if grep { $at >= $_->[0] && $at < $_->[1] } @bodies;
			$call =~ s/\s*\($//;
			push @found, "$path:" . line_at($code, $at) . ": $call";
		}
	}
	return @found;
}

sub destructors_inside
{
	my @found;
	for my $path (sort grep { m{^extension/pg/.*\.[ch]pp$} } keys %text)
	{
		my $code = code_of($text{$path});
		for my $body (noexcept_bodies($code))
		{
			my $inside = substr($code, $body->[0], $body->[1] - $body->[0]);
			next unless $inside =~ $may_raise;
			push @found, "$path:" . line_at($code, $body->[0] + $-[0]) . ": $&" while $inside =~ /$has_destructor|\bthrow\b/g;
		}
	}
	return @found;
}

sub long_files
{
	my @found;
	for my $path (sort grep { m{\.(?:[ch]pp|c|sql|pl|pm|spec|sh)$|^test/env/|^Makefile$} } keys %text)
	{
		my $lines = ($text{$path} =~ tr/\n//);
		print "# $path has $lines lines; is there a second idea in it?\n" if $lines > 350 && $lines <= 450;
		push @found, "$path: $lines lines" if $lines > 450;
	}
	return @found;
}

# Functions whose body is a string are parsed when they run, under the search path of that moment.
sub search_path_left_open
{
	my @found;
	for my $path (sort grep { m{^sql/[^/]+/.*\.sql$} } keys %text)
	{
		my $sql = $text{$path};
		while ($sql =~ /^CREATE\s+(?:FUNCTION|PROCEDURE)\s+([\w.]+)((?:\$(\w*)\$.*?\$\3\$|[^;\$])*);/gms)
		{
			my ($name, $at, $definition) = ($1, $-[0], $2);
			next unless $definition =~ /\bLANGUAGE\s+(?:plpgsql|sql)\b/i && $definition =~ /\bAS\s+[\$']/;
			next if $definition =~ /\bSET\s+search_path\s*=/i;
			next if substr($sql, 0, $at) =~ /^--[^\n]*every name is qualified\.?\n\z/m;
			push @found, "$path:" . line_at($sql, $at) . ": $name";
		}
	}
	return @found;
}

sub exported_symbols
{
	my @found;
	for my $library (glob "'$root'/*.so")
	{
		for my $line (`nm -D --defined-only '$library'`)
		{
			my ($symbol) = $line =~ /(\S+)$/;
			push @found, "$library: $symbol" unless $symbol =~ /^(?:(?:pg_finfo_)?(?:pg_backfill|bt_leads)_\w+|Pg_magic_func|_PG_init)$/;
		}
	}
	return @found;
}

my $std = qr/<[a-z_0-9]+>/;
my $parsers = qr/[<"](?:pugixml\.hpp|simdjson\.h|rapidjson\/[\w\/]+\.h)[>"]/;
my $ours = qr{\bMakefile$|\.(?:[ch]pp|c|sql|pl|pm|spec|sh|md|map|control|mjs|js|py)$|^test/env/|^test/demo/|^\.ci/};
my $not_lint = qr{^(?!test/lint/)};

my @rules = (
	[ core_uses_std_only => sub {
		(matches(qr{^extension/core/}, qr/^\s*#\s*include/, qr/include\s+(?:$std|"core\/)/),
			matches(qr{^extension/core/}, qr/<(?:iostream|fstream|thread|mutex|filesystem)>|\b(?:system|steady)_clock::now|\bstd::c(?:out|err)\b|\bf?printf\s*\(/)) } ],
	[ bureau_uses_std_core_and_parsers => sub {
		(matches(qr{^extension/bureau/}, qr/^\s*#\s*include/, qr/include\s+(?:$std|"(?:core|bureau)\/|$parsers)/),
			matches(qr{^extension/bureau/}, qr/<(?:iostream|fstream|thread|mutex|filesystem)>|\b(?:system|steady)_clock::now|\bstd::c(?:out|err)\b|\bf?printf\s*\(|\bfopen\b|\bload_file\b/)) } ],
	[ pg_has_no_client_libraries_or_threads => sub {
		matches(qr{^extension/pg/}, qr/^\s*#\s*include\s*[<"](?:libpq|spdlog|curl|thread|mutex|future|atomic|condition_variable|iostream|fstream|worker\/)/) } ],
	[ worker_does_not_see_the_server => sub {
		matches(qr{^worker/}, qr/^\s*#\s*include\s*[<"](?:pg\/|postgres\.h|bureau\/|server\/|utils\/|fmgr\.h)/) } ],
	[ postgres_h_has_one_door => sub {
		matches(qr{^(?!extension/pg/postgres\.hpp).*\.[ch]pp$}, qr/^\s*#\s*include\s*[<"]postgres\.h[>"]/) } ],
	[ errors_are_raised_inside_call_only => \&longjmp_outside ],
	[ nothing_to_destroy_inside_call => \&destructors_inside ],
	[ files_stay_short => \&long_files ],
	[ names_say_something => sub {
		grep { m{(?:^|[/_])(?:utils?|common|helpers?|types|managers?)(?:[._/]|$)}i && $_ !~ m{^test/data/} } @paths } ],
	[ no_machine_paths => sub {
		matches(qr{$not_lint.*$ours}, qr{(?<![\w.])/(?:work|home|opt/pg|root|Users)/}) } ],
	[ speaks_of_itself_only => sub {
		matches(qr{$not_lint.*$ours}, qr{(?<![\w-])shared/|/tmp/brief}) } ],
	[ sql_functions_set_search_path => \&search_path_left_open ],
	[ install_scripts_create_plainly => sub {
		matches(qr{^sql/[^/]+/}, qr/\b(?:CREATE|ADD)\b.*\bIF\s+NOT\s+EXISTS\b|\bCREATE\s+OR\s+REPLACE\b/i, qr/^\s*--/) } ],
	[ white_space_is_tidy => sub {
		(matches(qr{$ours|^\.}, qr/[ \t\r]+$/),
			matches(qr{\.(?:sql|pl|pm|spec)$}, qr/^ +(?! ?\*)\S/),
			map({ "$_: no end of line at the end" } grep { $_ =~ $ours && length $text{$_} && $text{$_} !~ /\n\z/ } sort keys %text)) } ],
	[ libraries_export_sql_entry_points_only => \&exported_symbols ],
);

if ($root eq '--list')
{
	print "$_->[0]\n" for @rules;
	exit 0;
}

read_tree();
my $bad = 0;
for my $rule (@rules)
{
	my ($name, $check) = @$rule;
	my @found = $check->();
	print @found ? 'not ok' : 'ok', " - $name\n", map { "#   $_\n" } @found;
	$bad++ if @found;
}
exit($bad > 0);
