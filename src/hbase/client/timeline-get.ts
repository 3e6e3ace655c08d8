import { type RowanError, throwIfAborted } from '../../errors.js';
import { asRowanError } from '../rpc/call.js';
import type { Cluster } from './cluster.js';
import type { GetAction } from './get-action.js';
import { sleep } from './retry.js';

/**
 * A get that a replica may answer: the primary is asked first, and when it has not answered within
 * `primaryCallTimeout`, or has failed, the replicas too. The first answer counts (HBase `AsyncTimelineConsistentReadUtil`).
 * @throws RowanError the primary's error when nobody answers.
 */
export async function timelineGet<T>(
  cluster: Cluster,
  make: () => GetAction<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  throwIfAborted(signal);
  const primary = make();
  const answer = primary.promise();
  if (signal !== undefined) primary.abortWith(signal);
  cluster.dispatcher.submit(primary);
  const { primaryCallTimeout, operationTimeout } = cluster.settings;
  const inTime = answer.then(
    (value) => ({ value }),
    () => undefined,
  );
  // Before the region was looked up nobody has been asked, and nothing is known of replicas.
  const located = cluster.locator
    .locate(primary.table, primary.row, false, operationTimeout)
    .then(nothing, nothing);
  const wait = located.then(() => sleep(primaryCallTimeout, signal)).then(nothing);
  const early = await Promise.race([inTime, wait]);
  if (early !== undefined) return early.value;
  throwIfAborted(signal);
  const others = askReplicas(cluster, primary, make, signal);
  try {
    return await Promise.any([answer, ...others]);
  } catch (failure) {
    throw asRowanError((failure as AggregateError).errors[0]) satisfies RowanError;
  }
}

function nothing(): undefined {
  return undefined;
}

function askReplicas<T>(
  cluster: Cluster,
  primary: GetAction<T>,
  make: () => GetAction<T>,
  signal: AbortSignal | undefined,
): Promise<T>[] {
  const region = primary.region ?? cluster.locator.cache.find(primary.table, primary.row);
  const answers: Promise<T>[] = [];
  for (const replica of region?.replicas ?? []) {
    if (replica === undefined || replica.replicaId === 0) continue;
    const action = make();
    action.pinned = true;
    answers.push(action.promise());
    if (signal !== undefined) action.abortWith(signal);
    cluster.dispatcher.enqueue(action, replica);
  }
  return answers;
}
