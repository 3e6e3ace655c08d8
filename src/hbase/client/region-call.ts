import { compareBytes, EMPTY_BYTES } from '../../bytes/index.js';
import { InvalidArgumentError, TimeoutError, throwIfAborted } from '../../errors.js';
import { canonicalTableName } from '../../table/descriptor.js';
import { type Region, specifierOf } from '../region/region.js';
import { asRowanError, UnaryCall } from '../rpc/call.js';
import { UnknownOutcomeError, withoutRetryAdvice } from '../rpc/errors.js';
import { CoprocessorServiceRequest, CoprocessorServiceResponse } from '../wire/messages-security.js';
import type { Cluster } from './cluster.js';
import { exhaustedError, isAmbiguous, pauseBefore, sleep } from './retry.js';

/** A request, other than a table operation, to the region that holds a row. */
interface RegionRequest<Q, A> {
  readonly table: string;
  readonly row: Uint8Array;
  /** Its description, for messages. */
  readonly what: string;
  /** Limit of all attempts together, milliseconds. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
  /** Whether it is retried when its answer was lost. */
  readonly repeatable: boolean;
  /** Advice of the error message when it is not retried. */
  readonly advice: string;
  callOf(region: Region, timeLeft: number): UnaryCall<Q, A>;
}

/**
 * Sends a request to the region that holds a row. A region that has moved is looked up again.
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
          `${what} was sent, and its answer was lost: ${withoutRetryAdvice(error)} It may have been carried out. ${request.advice}`,
          { cause: error },
        );
      }
      if (!error.retryable || cluster.isClosed) throw error;
      if (attempts > settings.retries) throw exhaustedError(error, what, attempts, 'no retries left');
      const pause = pauseBefore(attempts, settings.pause, error);
      await sleep(Math.min(pause, deadline - performance.now()), signal);
    }
  }
}

// — Calls of coprocessor endpoints deployed on the servers (`CoprocessorService`).

/** A call of an endpoint. Request and response are encoded protocol buffers of the endpoint's own schema. */
export interface CoprocessorCall {
  readonly table: string;
  /** The service's full name in its `.proto`, with the package unless it is HBase's own. */
  readonly service: string;
  readonly method: string;
  readonly request: Uint8Array;
  /** Whether the call may be repeated when its answer was lost; default false. */
  readonly repeatable?: boolean;
  /** For each region, milliseconds; default: `operationTimeout`. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

/** The response of the endpoint in one region. */
export interface CoprocessorAnswer {
  readonly startKey: Uint8Array;
  /** Empty: to the end of the table. */
  readonly endKey: Uint8Array;
  readonly value: Uint8Array;
}

/**
 * Calls the endpoint in the region that holds `row`. A region that has moved is looked up again.
 * @throws RowanError what the endpoint throws; with `details.outcome` `'unknown'` when the answer was lost.
 */
export async function callCoprocessor(
  cluster: Cluster,
  call: CoprocessorCall,
  row: Uint8Array,
): Promise<CoprocessorAnswer> {
  const { settings } = cluster;
  const timeout = call.timeout ?? settings.operationTimeout;
  if (!(timeout > 0)) {
    throw new InvalidArgumentError(`A timeout is a positive number of milliseconds, not ${timeout}.`);
  }
  const { region, answer } = await callRegion(cluster, {
    table: canonicalTableName(call.table),
    row,
    what: `The call ${call.service}.${call.method} in table ${call.table}`,
    timeout,
    signal: call.signal,
    repeatable: call.repeatable === true,
    advice: 'Set repeatable if the call may run twice.',
    callOf: (found, timeLeft) => callOf(call, found, row, Math.min(settings.rpcTimeout, timeLeft)),
  });
  return { startKey: region.startKey, endKey: region.endKey, value: answer.value.value ?? EMPTY_BYTES };
}

/** Calls the endpoint in every region from `startRow` up to `stopRow`, one after the other, in key order. */
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
    { region: specifierOf(region), call: { row, serviceName, methodName, request } },
    CoprocessorServiceResponse,
  );
}
