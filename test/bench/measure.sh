# To be sourced. A bench writes one psql session: what is measured runs in the same warm session, turn by turn.
set -euo pipefail
here=$(dirname "$0")

# measure BENCH CONTENDER ROUND ITEMS COMMAND
measure() {
	printf '%s\n' "SELECT bench.cpu_ms() AS cpu, clock_timestamp() AS began \\gset" "$5 \\g /dev/null"
	printf '%s\n' "INSERT INTO bench.sample VALUES ('$1', '$2', $3, $4, bench.cpu_ms() - :cpu, extract(epoch FROM clock_timestamp() - :'began') * 1000);"
}
session() {
	psql -X -q -v ON_ERROR_STOP=1 "$@"
}
