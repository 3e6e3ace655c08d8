/** Endpoints that were deployed into the servers' regions (`CoprocessorService`), called with their own messages. */

import { compareBytes, EMPTY_BYTES } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { canonicalTableName } from '../../table/table-name.js';
import { type Region, specifierOf } from '../region/region.js';
import { UnaryCall } from '../rpc/call.js';
import { CoprocessorServiceRequest, CoprocessorServiceResponse } from '../wire/messages-coprocessor.js';
import type { Cluster } from './cluster.js';
import { callRegion } from './region-call.js';

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

/**
 * Calls the endpoint of the region that holds `row`; a region that has moved is looked up again.
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
    advice: 'Say repeatable if it can be made twice.',
    callOf: (found, timeLeft) => callOf(call, found, row, Math.min(settings.rpcTimeout, timeLeft)),
  });
  return { startKey: region.startKey, endKey: region.endKey, value: answer.value.value ?? EMPTY_BYTES };
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
    { region: specifierOf(region), call: { row, serviceName, methodName, request } },
    CoprocessorServiceResponse,
  );
}
