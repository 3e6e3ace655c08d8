import { TimeoutError, throwIfAborted } from '../../errors.js';
import type { Region } from '../region/region.js';
import { asRowanError, type UnaryCall } from '../rpc/call.js';
import { UnknownOutcomeError } from '../rpc/errors.js';
import type { Cluster } from './cluster.js';
import { givenUp, isAmbiguous, pauseBefore, sleep } from './retry.js';

/** A request to whatever region holds a row, beside those of tables. */
export interface RegionRequest<Q, A> {
  readonly table: string;
  readonly row: Uint8Array;
  /** What it is to do, for messages. */
  readonly what: string;
  /** All attempts together, milliseconds. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
  /** Whether it is made again when its answer was lost. */
  readonly repeatable: boolean;
  /** What to do when it is not, for the message. */
  readonly advice: string;
  callOf(region: Region, timeLeft: number): UnaryCall<Q, A>;
}

/**
 * Asks the region that holds a row; one that has moved is looked up again.
 * @throws RowanError what the server throws; with `details.outcome` `'unknown'` when the answer was lost.
 */
export async function callRegion<Q, A>(
  cluster: Cluster,
  request: RegionRequest<Q, A>,
): Promise<{ readonly region: Region; readonly answer: A }> {
  const { table, row, what, timeout, signal } = request;
  const { settings } = cluster;
  const deadline = performance.now() + timeout;
  for (let attempts = 1; ; attempts++) {
    throwIfAborted(signal);
    const timeLeft = deadline - performance.now();
    if (timeLeft <= 0) throw new TimeoutError(`${what} was not answered within ${timeout} ms.`);
    let region: Region | undefined;
    let call: UnaryCall<Q, A> | undefined;
    try {
      region = await cluster.locator.locate(table, row, false, timeLeft);
      call = request.callOf(region, timeLeft);
      cluster.pool.get(region.address, 'ClientService').send(call);
      return { region, answer: await call.answer };
    } catch (thrown) {
      const error = asRowanError(thrown);
      if (region !== undefined) cluster.regionFailed(region, error);
      if (call?.sent === true && isAmbiguous(error) && !request.repeatable) {
        throw new UnknownOutcomeError(
          `${what} was sent, and its answer was lost: ${error.message} It may have been carried out. ${request.advice}`,
          { cause: error },
        );
      }
      if (!error.retryable || cluster.isClosed) throw error;
      if (attempts > settings.retries) throw givenUp(error, what, attempts, 'no retries left');
      const pause = pauseBefore(attempts, settings.pause, error);
      await sleep(Math.min(pause, deadline - performance.now()), signal);
    }
  }
}
