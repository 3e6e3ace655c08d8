/** Endpoints that were deployed into the servers' regions (`CoprocessorService`), called with their own messages. */

import { compareBytes, EMPTY_BYTES } from '../../bytes/index.js';
import { InvalidArgumentError, type RowanError, TimeoutError, throwIfAborted } from '../../errors.js';
import { canonicalTableName } from '../../table/table-name.js';
import type { Region } from '../region/region.js';
import { asRowanError, UnaryCall } from '../rpc/call.js';
import { UnknownOutcomeError } from '../rpc/errors.js';
import { CoprocessorServiceRequest, CoprocessorServiceResponse } from '../wire/messages-coprocessor.js';
import type { Cluster } from './cluster.js';
import { givenUp, isAmbiguous, pauseBefore, sleep } from './retry.js';

/** A call of an endpoint. Messages are protocol buffers, encoded: their schema is the endpoint's own. */
export interface CoprocessorCall {
  readonly table: string;
  /** The service's full name in its `.proto`, with the package unless it is HBase's own. */
  readonly service: string;
  readonly method: string;
  readonly request: Uint8Array;
  /** Whether it may be made again when its answer was lost; default false: what it does is not known here. */
  readonly repeatable?: boolean;
  /** For each region, milliseconds; default: `operationTimeout`. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

/** What the endpoint in one region answered. */
export interface CoprocessorAnswer {
  readonly startKey: Uint8Array;
  /** Empty: to the end of the table. */
  readonly endKey: Uint8Array;
  readonly value: Uint8Array;
}

const FULL_NAME = 1;

/**
 * Calls the endpoint of the region that holds `row`; a region that has moved is looked up again.
 * @throws RowanError what the endpoint throws; with `details.outcome` `'unknown'` when the answer was lost.
 */
export async function callCoprocessor(
  cluster: Cluster,
  call: CoprocessorCall,
  row: Uint8Array,
): Promise<CoprocessorAnswer> {
  const table = canonicalTableName(call.table);
  const { settings } = cluster;
  const timeout = call.timeout ?? settings.operationTimeout;
  if (!(timeout > 0)) {
    throw new InvalidArgumentError(`A timeout is a positive number of milliseconds, not ${timeout}.`);
  }
  const deadline = performance.now() + timeout;
  for (let attempts = 1; ; attempts++) {
    throwIfAborted(call.signal);
    const timeLeft = deadline - performance.now();
    if (timeLeft <= 0) throw new TimeoutError(`${what(call)} was not answered within ${timeout} ms.`);
    let region: Region | undefined;
    let rpc: UnaryCall<unknown, unknown> | undefined;
    try {
      region = await cluster.locator.locate(table, row, false, timeLeft);
      const made = callOf(call, region, row, Math.min(settings.rpcTimeout, timeLeft));
      rpc = made as UnaryCall<unknown, unknown>;
      cluster.pool.get(region.address, 'ClientService').send(made);
      const { value } = await made.answer;
      return { startKey: region.startKey, endKey: region.endKey, value: value.value ?? EMPTY_BYTES };
    } catch (thrown) {
      const error = asRowanError(thrown);
      if (region !== undefined) cluster.regionFailed(region, error);
      if (rpc?.sent === true && isAmbiguous(error) && call.repeatable !== true) throw lost(call, error);
      if (!error.retryable || cluster.isClosed) throw error;
      if (attempts > settings.retries) throw givenUp(error, what(call), attempts, 'no retries left');
      await sleep(
        Math.min(pauseBefore(attempts, settings.pause, error), deadline - performance.now()),
        call.signal,
      );
    }
  }
}

/** Calls the endpoint of every region from `startRow` up to `stopRow`, one after the other, in the order of their keys. */
export async function* callCoprocessors(
  cluster: Cluster,
  call: CoprocessorCall,
  startRow: Uint8Array,
  stopRow: Uint8Array,
): AsyncGenerator<CoprocessorAnswer> {
  for (let row = startRow; ; ) {
    const answer = await callCoprocessor(cluster, call, row);
    yield answer;
    const { endKey } = answer;
    if (endKey.length === 0 || (stopRow.length > 0 && compareBytes(endKey, stopRow) >= 0)) return;
    row = endKey;
  }
}

function callOf(
  call: CoprocessorCall,
  region: Region,
  row: Uint8Array,
  timeout: number,
): UnaryCall<
  Parameters<typeof CoprocessorServiceRequest.write>[1],
  ReturnType<typeof CoprocessorServiceResponse.read>
> {
  const { service: serviceName, method: methodName, request } = call;
  return new UnaryCall(
    'ExecService',
    timeout,
    CoprocessorServiceRequest,
    { region: { type: FULL_NAME, value: region.name }, call: { row, serviceName, methodName, request } },
    CoprocessorServiceResponse,
  );
}

function what(call: CoprocessorCall): string {
  return `The call ${call.service}.${call.method} in table ${call.table}`;
}

function lost(call: CoprocessorCall, cause: RowanError): RowanError {
  return new UnknownOutcomeError(
    `${what(call)} was sent, and its answer was lost: ${cause.message} It may have been carried out. Say repeatable if ` +
      'it can be made twice.',
    { cause, details: { outcome: 'unknown' } },
  );
}
