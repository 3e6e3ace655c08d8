/** `ClientMetaService`: where the cluster is, for clients that know one address of it. */

import {
  GetActiveMasterResponse,
  GetBootstrapNodesResponse,
  GetClusterIdResponse,
  GetMetaRegionLocationsResponse,
} from '../../hbase/wire/messages-rpc.js';
import { META_INFO } from '../regions/served-regions.js';
import type { Service } from '../rpc/request.js';
import { GetMastersResponse } from './messages.js';
import { constant } from './method.js';
import type { ServerParts } from './parts.js';

export function registryService({ server, clusterId }: ServerParts): Service {
  return {
    getclusterid: constant(GetClusterIdResponse, { clusterId }),
    getactivemaster: constant(GetActiveMasterResponse, { serverName: server }),
    getmasters: constant(GetMastersResponse, { masterServers: [{ serverName: server, isActive: true }] }),
    getmetaregionlocations: constant(GetMetaRegionLocationsResponse, {
      metaLocations: [{ regionInfo: META_INFO, serverName: server, seqNum: 0 }],
    }),
    getbootstrapnodes: constant(GetBootstrapNodesResponse, { serverName: [server] }),
  };
}
