/** Master calls about the cluster, namespaces and switches. */

import { totalmem } from 'node:os';
import { toStringBinary } from '../../../bytes/index.js';
import { tableNameMessage } from '../../../hbase/admin/table-codec.js';
import * as messages from '../../../hbase/wire/messages-admin.js';
import { Empty } from '../../../hbase/wire/schema.js';
import { parseTableName } from '../../../table/index.js';
import { JavaClass, refused, ServerException } from '../../errors.js';
import { isMeta } from '../../regions/served-regions.js';
import type { Service } from '../../rpc/request.js';
import { openRegions, regionLoadOf } from '../admin-service.js';
import {
  Flag,
  Flags,
  ListNamespaceDescriptorsResponse,
  SwitchRequest,
  SwitchTypeRequest,
  Timestamp,
} from '../messages.js';
import type { ServerParts } from '../parts.js';
import type { Procedures } from '../procedures.js';
import { constant, method, nothing } from '../registry-service.js';

/** The HBase version whose behavior clients may expect. */
const HBASE_VERSION = '2.6.4';
const MEBIBYTE = 1 << 20;

export function clusterCalls(parts: ServerParts): Service {
  const { server } = parts;
  const switches = new Switches();
  return {
    ismasterrunning: constant(Flag, { value: true }),
    getclusterstatus: method(messages.GetClusterStatusRequest, messages.GetClusterStatusResponse, () => ({
      clusterStatus: clusterStatus(parts, switches.balancer),
    })),
    setbalancerrunning: method(
      messages.SetBalancerRunningRequest,
      messages.SetBalancerRunningResponse,
      ({ on }) => {
        const previous = switches.balancer;
        switches.balancer = on;
        return { previous };
      },
    ),
    isbalancerenabled: method(Empty, messages.IsBalancerEnabledResponse, () => ({
      enabled: switches.balancer,
    })),
    // With a single server nothing can be moved.
    balance: constant(Flag, { value: false }),
    normalize: constant(Flag, { value: false }),
    setsplitormergeenabled: method(SwitchRequest, Flags, ({ enabled, types = [] }) => ({
      values: types.map((type) => switches.set(type, enabled)),
    })),
    issplitormergeenabled: method(SwitchTypeRequest, Flag, ({ type }) => ({ value: switches.get(type) })),
    isnormalizerenabled: constant(Flag, { value: false }),
    setnormalizerrunning: constant(Flag, { value: false }),
    iscatalogjanitorenabled: constant(Flag, { value: true }),
    enablecatalogjanitor: constant(Flag, { value: true }),
    iscleanerchoreenabled: constant(Flag, { value: true }),
    setcleanerchorerunning: constant(Flag, { value: true }),
    getlastmajorcompactiontimestamp: constant(Timestamp, { compactionTimestamp: 0 }),
    getlastmajorcompactiontimestampforregion: constant(Timestamp, { compactionTimestamp: 0 }),
    moveregion: method(messages.MoveRegionRequest, Empty, ({ region, destination }) => {
      const isElsewhere =
        destination !== undefined &&
        (destination.hostName !== server.hostName || destination.port !== server.port);
      if (isElsewhere)
        throw refused(`There is one server, ${server.hostName}:${server.port}: no region can be moved.`);
      if (!isMeta(region) && parts.regions.find(region) === undefined)
        throw new ServerException(JavaClass.UnknownRegion, toStringBinary(region.value));
      return {};
    }),
    assignregion: nothing,
    getprocedures: nothing,
    getlocks: nothing,
    listdecommissionedregionservers: nothing,
    getsecuritycapabilities: nothing,
    clearslowlogsresponses: nothing,
  };
}

/** The switches for splits and merges. */
class Switches {
  balancer = true;
  private readonly byType = new Map<number, boolean>();

  get(type: number): boolean {
    return this.byType.get(type) ?? true;
  }

  /** Returns the previous value. */
  set(type: number, enabled: boolean): boolean {
    const before = this.get(type);
    this.byType.set(type, enabled);
    return before;
  }
}

function clusterStatus(
  parts: ServerParts,
  balancerOn: boolean,
): NonNullable<Parameters<typeof messages.ClusterStatus.write>[1]> {
  const { server, store, load, startedAt, clusterId } = parts;
  const regionLoads = Array.from(openRegions(parts), regionLoadOf);
  const tableRegionStatesCount = store.tableNames().map((name) => {
    const state = store.table(name)!;
    const total = state.regions.length;
    const [openCount, closedCount] = state.enabled ? [total, 0] : [0, total];
    return {
      tableName: tableNameMessage(name),
      regionStatesCount: {
        openRegions: openCount,
        splitRegions: 0,
        closedRegions: closedCount,
        regionsInTransition: 0,
        totalRegions: total,
      },
    };
  });
  const { rss } = process.memoryUsage();
  return {
    hbaseVersion: { version: HBASE_VERSION },
    liveServers: [
      {
        server,
        serverLoad: {
          requestsPerSecond: load.callsPerSecond,
          totalRequests: load.total,
          usedHeapMB: Math.ceil(rss / MEBIBYTE),
          // Blocks and memstores are outside of V8's heap: the machine's memory limits them.
          maxHeapMB: Math.ceil(totalmem() / MEBIBYTE),
          regionLoads,
          reportStartTime: startedAt,
          reportEndTime: Date.now(),
        },
      },
    ],
    deadServers: [],
    regionsInTransition: [],
    clusterId: { clusterId },
    master: server,
    backupMasters: [],
    balancerOn,
    masterInfoPort: -1,
    serversName: [server],
    tableRegionStatesCount,
  };
}

export function namespaceCalls(parts: ServerParts, procedures: Procedures): Service {
  const { admin } = parts.engine;
  const change = procedures.run.bind(procedures);
  const descriptorOf = async (
    name: string,
  ): Promise<{ name: Uint8Array; configuration: { name: string; value: string }[] }> => {
    const properties = Object.entries(await admin.getNamespace(name));
    return {
      name: Buffer.from(name),
      configuration: properties.map(([key, value]) => ({ name: key, value })),
    };
  };
  const given = ({
    namespaceDescriptor: { name, configuration = [] },
  }: {
    readonly namespaceDescriptor: {
      readonly name: Uint8Array;
      readonly configuration?: readonly { readonly name: string; readonly value: string }[] | undefined;
    };
  }): [string, Record<string, string>] => [
    Buffer.from(name).toString('utf8'),
    Object.fromEntries(configuration.map((pair) => [pair.name, pair.value])),
  ];
  return {
    createnamespace: method(messages.CreateNamespaceRequest, messages.ProcedureResponse, (request) =>
      change(request, () => admin.createNamespace(...given(request))),
    ),
    modifynamespace: method(messages.ModifyNamespaceRequest, messages.ProcedureResponse, (request) =>
      change(request, () => admin.modifyNamespace(...given(request))),
    ),
    deletenamespace: method(messages.DeleteNamespaceRequest, messages.ProcedureResponse, (request) =>
      change(request, async () => {
        const { namespaceName: name } = request;
        const tables = parts.store.tableNames().filter((table) => parseTableName(table).namespace === name);
        if (tables.length > 0) {
          throw new ServerException(
            JavaClass.Constraint,
            `Only empty namespaces can be removed. Namespace ${name} has ${tables.length} tables`,
          );
        }
        await admin.deleteNamespace(name);
      }),
    ),
    getnamespacedescriptor: method(
      messages.GetNamespaceDescriptorRequest,
      messages.GetNamespaceDescriptorResponse,
      async ({ namespaceName }) => ({ namespaceDescriptor: await descriptorOf(namespaceName) }),
    ),
    listnamespaces: method(Empty, messages.ListNamespacesResponse, async () => ({
      namespaceName: await admin.listNamespaces(),
    })),
    listnamespacedescriptors: method(Empty, ListNamespaceDescriptorsResponse, async () => ({
      namespaceDescriptor: await Promise.all((await admin.listNamespaces()).map(descriptorOf)),
    })),
  };
}
