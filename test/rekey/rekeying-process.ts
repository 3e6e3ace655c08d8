/**
 * Changes keys while four writers go on, until it is killed. One line on stdout for each write that was acknowledged, `write ID N.`,
 * and one for each thing that it has come to: `open.`, `run.`, `copy.`, `verify.`, `ready.`, `cut-over.`, `cleanup.`, `done.`,
 * `aborting.`, `aborted.`.
 * Usage: rekeying-process.ts <folder> <first number> <Old | New: what is written> <run | cutover | cleanup | abort>
 */
import { KEYS, keyOf, New, Old, openOrders, WRITERS } from './orders.js';

const [folder, first, target, goal] = process.argv.slice(2) as [string, string, string, string];
const told = new Set<string>();

function tell(line: string): void {
  process.stdout.write(`${line}.\n`);
}

function tellOnce(line: string): void {
  if (told.has(line)) return;
  told.add(line);
  tell(line);
}

const db = await openOrders(folder, 'worker');
const things = db.repository(target === 'New' ? New : Old);
tell('open');

async function writer(id: number): Promise<void> {
  for (let n = Number(first); ; n++) {
    const key = { id: keyOf(id, n) };
    // The first of each key is a put, the others by turns.
    if (n < Number(first) + KEYS || n % 3 === 0) await things.put({ ...key, value: n });
    else await things.update(key, { value: n });
    tell(`write ${id} ${n}`);
  }
}

async function change(): Promise<void> {
  const rekey = db.rekey(Old, New);
  const slowly = {
    rowsPerSecond: 2500,
    batchRows: 20,
    checkpointRows: 100,
    onProgress: ({ job, rows }: { job: string; rows: number }) => {
      if (rows === 0) return;
      if (job.includes('-copy-')) tellOnce('copy');
      else if (job.includes('-verify-')) tellOnce('verify');
      else if (job.includes('-lost-')) return;
      else tellOnce(goal === 'abort' ? 'aborting' : 'cleanup');
    },
  };
  if (goal === 'run') {
    tell('run');
    if ((await rekey.status())?.state === 'aborting') await rekey.abort();
    await rekey.run(slowly);
    tell('ready');
  } else if (goal === 'cutover') {
    await rekey.cutOver();
    tell('cut-over');
  } else if (goal === 'cleanup') {
    if ((await rekey.status())?.state === 'ready') await rekey.cutOver();
    await rekey.cleanup(slowly);
    tell('done');
  } else {
    await rekey.abort(slowly);
    tell('aborted');
  }
}

await Promise.all([change(), ...Array.from({ length: WRITERS }, (_, id) => writer(id))]);
