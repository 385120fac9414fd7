// graphile.mjs JOBS: adds so many jobs and lets graphile-worker take them, one at a time in each of four. Prints the
// milliseconds that taking them took.
import { run, makeWorkerUtils } from "graphile-worker";
import { Logger } from "graphile-worker";
import pg from "pg";

const jobs = Number(process.argv[2]);
const pgPool = new pg.Pool({ max: 10 });
const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();
await pgPool.query("SELECT graphile_worker.add_job('nothing', json_build_object('lead', n)) FROM generate_series(1, $1::integer) n", [jobs]);
let done = 0;
const began = performance.now();
let finish;
const finished = new Promise((resolve) => (finish = resolve));
const runner = await run({ pgPool, logger, concurrency: 4, noHandleSignals: true, pollInterval: 100,
	taskList: { nothing: () => { if (++done === jobs) finish(); } } });
await finished;
await runner.stop();
console.log(performance.now() - began);
await utils.release();
await pgPool.end();
