/** `ClientMetaService`: where the cluster is, for clients that know one address of it. */

import {
  GetActiveMasterResponse,
  GetBootstrapNodesResponse,
  GetClusterIdResponse,
  GetMetaRegionLocationsResponse,
} from '../../hbase/wire/messages-rpc.js';
import { Empty, type MessageCodec } from '../../hbase/wire/schema.js';
import { META_INFO } from '../regions/served-regions.js';
import { messageAnswer } from '../rpc/answer.js';
import type { Handler, Service } from '../rpc/request.js';
import { GetMastersResponse } from './messages.js';
import type { ServerParts } from './parts.js';

export function registryService({ server, clusterId }: ServerParts): Service {
  return {
    getclusterid: constant(GetClusterIdResponse, { clusterId, rowanTransactions: true }),
    getactivemaster: constant(GetActiveMasterResponse, { serverName: server }),
    getmasters: constant(GetMastersResponse, { masterServers: [{ serverName: server, isActive: true }] }),
    getmetaregionlocations: constant(GetMetaRegionLocationsResponse, {
      metaLocations: [{ regionInfo: META_INFO, serverName: server, seqNum: 0 }],
    }),
    getbootstrapnodes: constant(GetBootstrapNodesResponse, { serverName: [server] }),
  };
}

/** A method whose request and response are messages without cells. */
export function method<Q, A>(
  request: MessageCodec<Q>,
  answer: MessageCodec<A>,
  run: (asked: Q) => A | Promise<A>,
): Handler {
  return ({ reader }) => {
    const answered = run(request.read(reader));
    return answered instanceof Promise
      ? answered.then((value) => messageAnswer(answer, value))
      : messageAnswer(answer, answered);
  };
}

/** A method with a constant response. */
export function constant<A>(answer: MessageCodec<A>, value: A): Handler {
  return () => messageAnswer(answer, value);
}

/** A method with an empty response. */
export const nothing: Handler = constant(Empty, {});
