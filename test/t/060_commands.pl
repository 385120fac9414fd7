# The commands that look at things and decide about messages: what they print, in each format, and what they refuse.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Worker;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';
my ($code, $out, $err);

# A first user: reports from files, a run, a look.
($code, $out, $err) = worker('load-reports', 'test/data/reports/s01_baseline.json');
is($code, 4, 'no extension: refused');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_backfill');
($code, $out, $err) = worker('load-reports', 'test/data/reports/s01_baseline.json');
is($code, 1, 'no leads extension: refused');
like($err, qr/HINT:  Run CREATE EXTENSION bt_leads CASCADE there/, 'no leads extension: what to do');
$node->safe_psql('postgres', 'CREATE EXTENSION bt_leads; SELECT bt.install_pipeline()');

($code, $out, $err) = worker('-o', 'csv', 'load-reports', '--with-leads', 'test/data/reports/s01_baseline.json', 'test/data/reports/s04_caps_only_no_cais.json');
is($code, 0, 'reports are loaded');
like($out, qr/s01_baseline\.json,1,loaded,experian,ok,,3,1\r\n/, 'how a report reads, and the lead it made');
like($out, qr/s04_caps_only_no_cais\.json,2,loaded,experian,skipped,no_accounts,0,2\r\n/, 'a report with nothing to transfer');
is($node->safe_psql('postgres', q{SELECT encode(body, 'hex') FROM bt.credit_report WHERE id = 1}),
	unpack('H*', slurp_file('test/data/reports/s01_baseline.json')), 'byte for byte');
($code, $out) = worker('load-reports', '-o', 'csv', '--with-leads', 'test/data/reports/s01_baseline.json');
like($out, qr/,1,already there,experian,ok,,3,\r\n/, 'loaded twice: is there once');
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM bt.credit_report), (SELECT count(*) FROM bt.lead)'), '2|2', 'and made no second lead');

($code, $out, $err) = worker_with_input(slurp_file('test/data/reports/s21_empty_arrays_settled.json'), 'load-reports', '--mobile', '+91 60000 00077', '-o', 'json', '-');
is($code, 0, 'standard input');
like($out, qr/^\[\n\{"file":"-","report_id":3,"result":"loaded",.*"tradelines":1,"lead":null\}\n\]\n$/, 'JSON has numbers and nulls');
is($node->safe_psql('postgres', 'SELECT mobile FROM bt.credit_report WHERE id = 3'), '+91 60000 00077', 'the mobile that was given');
($code, $out, $err) = worker('load-reports', '-o', 'csv', 'nowhere.json', 'test/data/reports/s06_no_record_102.json', 'test/data/reports/s01_baseline.json');
is($code, 1, 'some files cannot be loaded');
like($err, qr/nowhere\.json: No such file/, 'which, and why');
like($err, qr/s06_no_record_102\.json: the report has no mobile of its own\nHINT:  Say whose it is with --mobile/, 'and what to do');
like($out, qr/s01_baseline\.json,1,already there/, 'the others are done');
my $folder = PostgreSQL::Test::Utils::tempdir();
append_to_file("$folder/broken.json", '{"broken": ');
append_to_file("$folder/other.json", '{"weather": "fine"}');
append_to_file("$folder/empty.json", '');
($code, $out, $err) = worker('load-reports', '-o', 'csv', map { "$folder/$_.json" } qw(broken other empty));
is($code, 1, 'files that are no reports');
like($err, qr/^pg_backfill: \S+broken\.json: not a report that can be read: invalid_json\n.*other\.json: .*: not_a_report\n.*empty\.json: .*: empty\n$/,
	'why, and nothing of a mobile that would not help');
like($out, qr/broken\.json,,unreadable,,failed,invalid_json,/, 'the table says so too');
$node->safe_psql('postgres', 'CREATE ROLE clerk LOGIN');
my @as_clerk = ('load-reports', '-d', 'user=clerk', '--with-leads', '-o', 'csv', 'test/data/reports/s04_caps_only_no_cais.json', 'test/data/reports/s01_baseline.json');
($code, $out, $err) = worker(@as_clerk);
is($code, 1, 'who may not load reports');
my $hint = "GRANT SELECT, INSERT ON bt.credit_report, bt.lead TO clerk";
like($err, qr/^pg_backfill: permission denied for table \w+\nHINT:  It takes \Q$hint\E\.\n$/, 'is told once which right is lacking');
$node->safe_psql('postgres', $hint);
is((worker(@as_clerk))[0], 0, 'and with that right may');
like((worker('load-reports', 'test/data'))[2], qr/test\/data: Is a directory/, 'a folder is no report');
like((worker('runs', 'show', 'abc'))[2], qr/abc is not an id/, 'an id that is none');
is((worker('load-reports', '--mobile', '12', 'test/data/reports/s01_baseline.json'))[0], 2, 'a mobile that is none: usage');

# Runs.
$node->safe_psql('postgres', q{CALL backfill.run('bt_leads')});
($code, $out) = worker('runs', '-o', 'csv');
is($code, 0, 'runs');
like($out, qr/^run_id,pipeline,mode,state,.*\r\n1,bt_leads,live,succeeded,.*,2,2,0,0,0,\r\n$/s, 'runs: one, with its counts');
like((worker('runs', 'bt_leads'))[1], qr/^ run_id \| pipeline .*\n-+\+-.*\n +1 \| bt_leads \|.*\n\(1 row\)\n$/, 'runs as a table');
like((worker('runs', '--state', 'broken'))[1], qr/\(0 rows\)/, 'runs by state');
like((worker('runs', 'show', '1'))[1], qr/^bt_leads run=1 item=1 step=normalize_report status=ok$/m, 'the story of a run');
($code, $out, $err) = worker('runs', 'show', '77');
is($code, 2, 'no such run');
like($err, qr/run 77 does not exist\nHINT:/, 'no such run: what to do');
is((worker('runs', '--state', 'dancing'))[0], 2, 'no such state');

# The outbox. The key of an item is what a page and a CSV field have to quote; the other item fails two nights.
$node->safe_psql('postgres', q{
	CREATE TABLE public.sale (id text PRIMARY KEY, at timestamptz DEFAULT '2026-01-01 01:00Z'); INSERT INTO public.sale VALUES ('<b>a, "b"</b>'), ('<i>');
	SELECT backfill.create_pipeline('odd', 'SELECT id, at FROM public.sale WHERE at >= $1 AND at < $2', 'text', lookback => '3 days');
	SELECT backfill.add_step('odd', 'tell',
		'SELECT EXISTS (SELECT FROM backfill.message m WHERE m.item = $1 AND m.message_type = ''hello'')',
		'SELECT backfill.emit(''email:a@example.com'', ''hello'', ''{"secret": "s3cret"}'', ''mail'', $1) WHERE $1 LIKE ''<b>%''')});
$node->safe_psql('postgres', qq{SET client_min_messages = error; SET backfill.test_clock_seconds = $_; CALL backfill.run('odd')}) for (1767268800, 1767355200); # noon of the 1st and of the 2nd
($code, $out) = worker('outbox', 'list', '-o', 'csv');
like($out, qr/\r\n1,odd,mail,hello,[^,]*,"<b>a, ""b""<\/b>",pending,,0,/, 'outbox: a message that waits, quoted as CSV needs it');
unlike($out, qr/s3cret|example\.com/, 'outbox list shows neither payload nor recipient');
like((worker('outbox', 'show', '1', '-o', 'json'))[1], qr/"payload":\{"secret": "s3cret"\}/, 'outbox show has the payload');
($code, $out, $err) = worker('outbox', 'discard', '1', '--reason', 'not wanted');
is("$code $out", "0 discarded 1 message\n", 'outbox discard');
like((worker('outbox', 'list', '--state', 'dead'))[1], qr/\| dead +\| discarded/, 'outbox by state');
like((worker('outbox', 'show', '1'))[1], qr/^interventions .*"reason": "not wanted"/m, 'the reason is kept');
($code, $out, $err) = worker('outbox', 'resolve-sent', '1', '--reason', 'x');
is($code, 1, 'a decision that does not fit the state is refused');
like($err, qr/message 1 is dead\nHINT:  Only an unknown delivery/, 'with the server\'s words');
($code, $out, $err) = worker('outbox', 'requeue', '1', '99', '--reason', 'after all');
is($code, 2, 'one of the ids does not exist');
like((worker('outbox', 'show', '1', '-o', 'csv'))[1], qr/,dead,/, 'then none is requeued');
is((worker('outbox', 'requeue', '1', '--reason', 'after all'))[0], 0, 'outbox requeue');
is($node->safe_psql('postgres', 'SELECT state FROM backfill.outbox'), 'pending', 'it waits again');
is((worker('outbox'))[0], 2, 'outbox alone: usage');
is((worker('outbox', 'requeue', '1', '--reason', 'now'))[0], 0, 'outbox requeue of what waits');
like((worker('outbox', 'requeue', '--help'))[1], qr/dead, expired or suppressed, or now what waits/, 'as its help says');
($code, $out, $err) = worker('outbox', 'resend', '1', '--reason', 'again');
is($code, 1, 'what waits cannot be sent again');
like($err, qr/HINT: .*backfill\.resolve_unknown.*\nHere: pg_backfill outbox requeue, resolve-sent or resolve-not-sent\.$/, 'the hint has the words of this program, too');

# How things stand.
like((worker('status', 'bt_leads'))[1], qr/^pipeline +bt_leads\n.*^last_state +succeeded\n.*^cron +no pg_cron\n/ms, 'status of one pipeline');
like((worker('status', '-o', 'json'))[1], qr/^\{"pipeline":"bt_leads",.*^\{"pipeline":"odd",.*"open_alarms":/ms, 'status of all');
for my $command ([ 'status', 'nothing' ], [ 'runs', 'nothing' ], [ 'outbox', 'list', '--pipeline', 'nothing' ])
{
	($code, $out, $err) = worker(@$command);
	is($code, 2, "@$command: a pipeline that does not exist");
	like($err, qr/pipeline "nothing" does not exist\nHINT:/, "@$command: what to do");
}
($code, $out) = worker('explain', 'bt_leads', '1', '-o', 'csv');
like($out, qr/^step,update_web_status,done,skip,done,""\r$/m, 'explain: a step that is done');
is((worker('explain', 'bt_leads', 'one'))[0], 2, 'a key that is none');
($code, $out) = worker('prove', 'bt_leads', '--items', '5', '-o', 'csv');
like("$code $out", qr/^0 .*^,proven(_in_part)?,2,/ms, 'prove: a pipeline that is safe to run twice');
$node->safe_psql('postgres', q{
	CREATE TABLE public.counted (id text PRIMARY KEY, n int);
	SELECT backfill.create_pipeline('counts', 'SELECT id, at FROM public.sale WHERE at >= $1 AND at < $2', 'text', lookback => '3650 days', max_catchup => '3650 days');
	SELECT backfill.add_step('counts', 'count_up', 'SELECT EXISTS (SELECT FROM public.counted c WHERE c.id = $1)',
		'INSERT INTO public.counted AS c VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET n = c.n + 1')});
($code, $out) = worker('prove', 'counts', '-o', 'csv');
like("$code $out", qr/^1 .*^count_up,not_repeatable,.*^,not_proven,/ms, 'prove: one that is not, and the step');
($code, $out) = worker('doctor', '-o', 'csv');
like("$code $out", qr/^0 .*^roles,warn,[^\r]*SELECT backfill\.create_roles\(\);\r$/ms, 'doctor: a warning, with the statement that mends it');
$node->safe_psql('postgres', q{CREATE ROLE poor; GRANT CREATE ON SCHEMA backfill TO poor; UPDATE backfill.pipeline SET owner = 'poor' WHERE name = 'counts'});
($code, $out) = worker('doctor', '-o', 'csv');
like("$code $out", qr/^1 .*^commands,fail,/ms, 'doctor: something fails');
$node->safe_psql('postgres', q{UPDATE backfill.pipeline SET owner = current_user WHERE name = 'counts'});

# A folder is no configuration.
($code, $out, $err) = worker('channel', 'list', '-c', 'test');
is($code, 2, 'a folder for a configuration');
like($err, qr/^pg_backfill: test: is a directory/, 'a folder for a configuration: why');
($code, $out, $err) = worker('channel', 'list', '-c', 'test/nowhere.toml');
is($code, 2, 'no such configuration');
like($err, qr/test\/nowhere\.toml: .*\nHINT:  --config, or PG_BACKFILL_CONFIG, names the file/, 'no such configuration: what to do');

# What serve would refuse is refused by every command that is given the file; a secret is for those who send.
my $config = PostgreSQL::Test::Utils::tempdir() . '/worker.toml';
sub configure
{
	my ($text) = @_;
	unlink $config;
	append_to_file($config, $text);
	return;
}
for my $wrong ("[wroker]\n", "[worker]\nconections = 4\n", "[http]\nlisten = 9187\n", "[channel.x]\nkind = 'inert'\nsender = 2\n")
{
	configure($wrong);
	for my $command ([ 'channel', 'list' ], ['runs'], ['status'])
	{
		($code, $out, $err) = worker(@$command, '-c', $config);
		is("$code $out", '2 ', "@$command refuses $wrong");
		like($err, qr/^pg_backfill: \Q$config\E:\d: \S+ (?:is not|has to be)/, 'and says where');
	}
}
configure("[channel.x]\nkind = 'slack'\nsecret_file = '/nowhere/secret'\n");
is((worker('status', '-c', $config))[0], 0, 'who only looks needs no secret');
is((worker('channel', 'list', '-c', $config))[0], 2, 'who is to send does');

# A test of a channel that its configuration keeps from sending names the setting.
for my $case (
	[ "kind = 'webhook'\nurl = 'http://127.0.0.1:9/'\n", 'protocol_not_allowed', 'allow_plain' ],
	[ "kind = 'webhook'\nurl = 'https://127.0.0.1:9/'\n", 'address_not_allowed', 'allow_private' ],
	[ "kind = 'webhook'\n[channel.x.endpoint.a]\nurl = 'https://127.0.0.1:9/'\n", 'endpoint_not_configured', '--to' ],
	[ "kind = 'file'\ndirectory = '$folder/absent'\n", 'file_no_directory', 'directory' ])
{
	my ($text, $reason, $setting) = @$case;
	configure("[channel.x]\n$text");
	($code, $out, $err) = worker('channel', 'test', 'x', '-c', $config);
	is($code, 1, "$reason: nothing was sent");
	like($out, qr/^x: .* by $reason: /, "$reason: the reason");
	like($err, qr/^HINT:  In \[channel\.x\]: .*\Q$setting\E/, "$reason: the setting");
}
configure("[channel.x]\nkind = 'file'\ndirectory = '$folder'\n");
($code, $out, $err) = worker('channel', 'test', 'x', '--to', 'file:../elsewhere', '-c', $config);
is($code, 1, 'a recipient that is not one of the channel\'s');
like($err, qr/^pg_backfill: x: the recipient is no path\nHINT: .*--to/, 'and what to do');

# A page.
my $page = $node->data_dir . '/page.html';
is((worker('report', '--html', $page))[0], 0, 'report');
$out = slurp_file($page);
like($out, qr/<td>odd<\/td><td>&lt;i&gt;<\/td><td>2<\/td>/, 'an item that fails each night, escaped');
like($out, qr/class="changed" style="width:100\.0+%" title="2 changed"/, 'a run is a bar');
unlike($out, qr/s3cret|example\.com/, 'no payload and no recipient');
is((worker('report', '--html', '/nowhere/page.html'))[0], 1, 'a file that cannot be written');

# Completion, as a shell uses it.
my $completed = sub {
	my (@words) = @_;
	my $last = $#words;
	IPC::Run::run [ 'bash', '-c', 'source <(pg_backfill completion bash); COMP_WORDS=("$@"); COMP_CWORD=' . $last . '; _pg_backfill; echo "${COMPREPLY[*]}"', 'bash', @words ],
		'>', \my $reply;
	chomp $reply;
	return $reply;
};
is($completed->('pg_backfill', 'outb'), 'outbox', 'completion of a command');
is($completed->('pg_backfill', 'outbox', 'li'), 'list', 'completion of a command\'s command');
is($completed->('pg_backfill', 'runs', 'bt_leads', '--st'), '--state', 'completion of an option');
is((worker('completion', 'csh'))[0], 2, 'no such shell');
like((worker('completion', 'fish'))[1], qr/^complete -c pg_backfill -n '__fish_use_subcommand' -a runs -d '/m, 'fish');
like((worker('completion', 'zsh'))[1], qr/^autoload -U \+X bashcompinit/, 'zsh');

# Every command explains itself, with an example.
my @commands = (worker('--help'))[1] =~ /^  ([a-z][a-z-]*)  /mg;
cmp_ok(scalar @commands, '>=', 6, 'commands are listed: ' . join ' ', @commands);
for my $command (@commands)
{
	($code, $out) = worker($command, '--help');
	ok($code == 0 && $out =~ /Examples?:\n  \S/, "help of $command has an example");
}

is($node->safe_psql('postgres', 'SELECT * FROM backfill.check_invariants()'), '', 'all invariants hold');
$node->stop;
done_testing();
