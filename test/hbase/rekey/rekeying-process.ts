/**
 * Changes keys on HBase until it kills itself (SIGKILL: no handler runs, nothing is told to anybody): some turns of its event loop behind the
 * place that it was told, or at the latest when it has come to its goal. Places are `open`; the servers' answers to what
 * it has asked of them, `altered`, `read-only`, `disabled`, `emptied`; `copy` and `verify`, with rows done; and each goal by its name.
 * Usage: rekeying-process.ts <masters> <round> <run | cutOver | cleanup | abort: the goal> <place> <turns>
 */
import { connect } from '../../../src/database.js';
import type { JobRunOptions } from '../../../src/job/types.js';
import { cutOver, declareThings } from './things.js';

const [masters, round, goal, place, turns] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const { Old, New } = declareThings(round, true);
let dying = false;

function die(left: number): void {
  if (left === 0) process.kill(process.pid, 'SIGKILL');
  setImmediate(() => die(left - 1));
}

function reached(where: string): void {
  if (dying || where !== place) return;
  dying = true;
  die(Number(turns));
}

const db = await connect({ masters: masters.split(','), entities: [Old, New], tables: 'create' });
const { admin } = db.engine;
const { modifyTable, disableTable, truncateTable } = admin;
admin.modifyTable = async (descriptor) => {
  await modifyTable.call(admin, descriptor);
  reached(descriptor.readOnly === true ? 'read-only' : 'altered');
};
admin.disableTable = async (table) => {
  await disableTable.call(admin, table);
  reached('disabled');
};
admin.truncateTable = async (table, preserveSplits) => {
  await truncateTable.call(admin, table, preserveSplits);
  reached('emptied');
};
reached('open');

// Nobody else works the jobs: what a dead process had is free soon.
const slowly: JobRunOptions = {
  leaseMs: 1000,
  rowsPerSecond: 1000,
  batchRows: 20,
  checkpointRows: 60,
  onProgress: ({ job, rows }) => {
    if (rows > 0) reached(job.includes('-copy-') ? 'copy' : 'verify');
  },
};
const rekey = db.rekey(Old, New);

/** What goes before a goal is done on the way, where nobody has done it before. */
async function reach(wanted: string): Promise<void> {
  const state = (await rekey.status())?.state;
  if (wanted === 'run') {
    if (state === 'aborting') await rekey.abort();
    await rekey.run(slowly);
  } else if (wanted === 'cutOver') {
    if (state !== 'cut-over') await reach('run');
    await cutOver(rekey);
  } else if (wanted === 'cleanup') {
    if (state !== 'cleanup' && state !== 'done') await reach('cutOver');
    await rekey.cleanup(slowly);
  } else await rekey.abort(slowly);
  reached(wanted);
}

await reach(goal);
reached(place);
