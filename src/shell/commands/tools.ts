/** Commands on regions: flush, compact, split, merge, move, the balancer. */

import type { RowanError } from '../../errors.js';
import type { RegionInfo } from '../../table/index.js';
import { type ClusterAdmin, clusterOf, isCluster, mergingOf } from '../cluster.js';
import type { ShellCommand, ShellContext } from '../command.js';
import { booleanOf, bytesOf, CommandError, textOf } from '../options.js';
import type { RubyValue } from '../ruby/index.js';
import { META_ENCODED_NAME, META_TABLE, regionText } from './ddl.js';

/** The table of a name: a table name, or a region name, which has the table before its first comma. */
function tableNameOf(value: RubyValue): string {
  const name = textOf(value);
  const comma = name.indexOf(',');
  return comma < 0 ? name : name.slice(0, comma);
}

/** Finds a region by its full or encoded name. */
async function regionNamed(
  shell: ShellContext,
  value: RubyValue,
  unknown: (name: string) => string,
): Promise<RegionInfo> {
  const name = textOf(value);
  if (name === META_ENCODED_NAME && isCluster(shell.admin))
    return (await shell.admin.getRegions(META_TABLE))[0]!;
  const comma = name.indexOf(',');
  const tables =
    comma < 0 ? (await shell.admin.listTables()).map((table) => table.name) : [name.slice(0, comma)];
  for (const table of tables) {
    for (const region of await shell.admin.getRegions(table)) {
      if (region.name === name || region.name.endsWith(`.${name}.`)) return region;
    }
  }
  throw new CommandError(unknown(name));
}

function noFamily(table: string, family: string): CommandError {
  return new CommandError(
    `org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column families [${family}] don't exist in ` +
      `table ${table}`,
  );
}

function onStores(
  name: string,
  summary: string,
  run: (shell: ShellContext, table: string, family: string | undefined) => Promise<void>,
): ShellCommand {
  return {
    name,
    group: 'tools',
    minArguments: 1,
    maxArguments: 3,
    summary,
    examples: [`${name} 't1'`, `${name} 't1', 'f1'`],
    async run(shell, [table, family = null, type = 'NORMAL']) {
      if (type !== 'NORMAL') throw new CommandError('only NORMAL or MOB accepted for type!');
      const name = tableNameOf(table!);
      try {
        await run(shell, name, family === null ? undefined : textOf(family));
      } catch (error) {
        const { code } = error as Partial<RowanError>;
        if (code === 'ERR_NO_SUCH_FAMILY') throw noFamily(name, textOf(family));
        // A disabled table has an empty memstore, so there is nothing to do.
        if (code !== 'ERR_TABLE_DISABLED') throw error;
      }
      return null;
    },
  };
}

const compactionState: ShellCommand = {
  name: 'compaction_state',
  group: 'tools',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Prints NONE: compact and major_compact return when they are done.',
  examples: ["compaction_state 't1'"],
  async run(shell, [table]) {
    await shell.admin.getDescriptor(textOf(table!));
    shell.formatter.row('NONE');
    return 'NONE';
  },
};

const split: ShellCommand = {
  name: 'split',
  group: 'tools',
  minArguments: 1,
  maxArguments: 2,
  summary: 'Splits the regions of a table at their middles, or one region at a row.',
  examples: ["split 't1'", "split 't1', 'splitKey'"],
  async run(shell, [table, key = null]) {
    if (key === '') throw new CommandError('should not give a splitkey which equals to startkey!');
    await shell.admin.split(tableNameOf(table!), key === null ? undefined : bytesOf(key));
    return null;
  },
};

const merge: ShellCommand = {
  name: 'merge_region',
  group: 'tools',
  minArguments: 1,
  maxArguments: Number.POSITIVE_INFINITY,
  summary: 'Merges adjacent regions, given by their names.',
  examples: ["merge_region 'REGIONNAME', 'REGIONNAME'", "merge_region 'ENCODED', 'ENCODED', true"],
  async run(shell, args) {
    const given = args.flatMap((arg) => (Array.isArray(arg) ? arg : [arg])).filter((arg) => arg !== null);
    const last = given.at(-1);
    const force = last === true;
    if (typeof last === 'boolean') given.pop();
    if (given.length < 2) throw new CommandError('Must pass at least 2 regions to merge');
    const admin = mergingOf(shell.admin, 'merge_region');
    const regions: string[] = [];
    for (const each of given)
      regions.push(
        (await regionNamed(shell, each, (name) => `Can't invoke merge on unknown region ${name}`)).name,
      );
    await admin.mergeRegions(regions, force);
    return null;
  },
};

const move: ShellCommand = {
  name: 'move',
  group: 'tools',
  minArguments: 1,
  maxArguments: 2,
  summary: 'Moves a region to a server, or to one that the master chooses.',
  examples: ["move 'ENCODED_REGIONNAME'", "move 'ENCODED_REGIONNAME', 'host,port,startcode'"],
  async run(shell, [region, server = null]) {
    const admin = clusterOf(shell.admin, 'move');
    const target = server === null ? undefined : textOf(server).split(',').slice(0, 2).join(':');
    await admin.moveRegion((await regionNamed(shell, region!, unknownRegion)).name, target);
    return null;
  },
};

const unknownRegion = (name: string): string => `org.apache.hadoop.hbase.UnknownRegionException: ${name}`;

function onRegion(
  name: 'assign' | 'unassign',
  summary: string,
  run: (admin: ClusterAdmin, region: string) => Promise<void>,
): ShellCommand {
  return {
    name,
    group: 'tools',
    minArguments: 1,
    maxArguments: 2,
    summary,
    examples: [`${name} 'REGIONNAME'`],
    async run(shell, [region]) {
      const admin = clusterOf(shell.admin, name);
      await run(admin, (await regionNamed(shell, region!, unknownRegion)).name);
      return null;
    },
  };
}

const regionInfo: ShellCommand = {
  name: 'regioninfo',
  group: 'tools',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Prints the name of a region and bounds.',
  examples: ["regioninfo 'REGIONNAME'"],
  async run(shell, [region]) {
    shell.print(regionText(await regionNamed(shell, region!, unknownRegion)));
    return null;
  },
};

const balanceSwitch: ShellCommand = {
  name: 'balance_switch',
  group: 'tools',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Switches the balancer on or off, and prints the previous state.',
  examples: ['balance_switch true', 'balance_switch false'],
  async run(shell, [on]) {
    const before = await clusterOf(shell.admin, 'balance_switch').setBalancerRunning(booleanOf(on!));
    shell.formatter.row(`Previous balancer state : ${before}`);
    return before;
  },
};

const balancerEnabled: ShellCommand = {
  name: 'balancer_enabled',
  group: 'tools',
  minArguments: 0,
  maxArguments: 0,
  summary: 'Prints whether the balancer is on.',
  examples: ['balancer_enabled'],
  async run(shell) {
    const enabled = await clusterOf(shell.admin, 'balancer_enabled').isBalancerEnabled();
    shell.formatter.row(String(enabled));
    return enabled;
  },
};

const liveServers: ShellCommand = {
  name: 'list_liveservers',
  group: 'tools',
  minArguments: 0,
  maxArguments: 0,
  summary: 'Prints the live servers.',
  examples: ['list_liveservers'],
  async run(shell) {
    shell.formatter.header('SERVERNAME');
    const servers = isCluster(shell.admin)
      ? (await shell.admin.getServers()).map(({ host, port, startCode }) => `${host},${port},${startCode}`)
      : ['embedded'];
    for (const server of servers) shell.formatter.row(server);
    shell.formatter.footer(servers.length);
    return null;
  },
};

const closeRegion: ShellCommand = {
  name: 'close_region',
  group: 'tools',
  minArguments: 1,
  maxArguments: 2,
  summary: 'Prints what to use instead.',
  examples: ["close_region 'REGIONNAME'"],
  async run(shell) {
    shell.print("DEPRECATED!!! Use 'unassign' command instead.");
    return null;
  },
};

export const TOOLS: readonly ShellCommand[] = [
  onStores(
    'flush',
    'Writes what is in memory of a table, or of a family, to files.',
    (shell, table, family) => shell.admin.flush(table, family),
  ),
  onStores('compact', 'Merges some files of a table, or of a family.', (shell, table, family) =>
    shell.admin.compact(table, family),
  ),
  onStores('major_compact', 'Merges all files of a table, or of a family.', (shell, table, family) =>
    shell.admin.majorCompact(table, family),
  ),
  compactionState,
  split,
  merge,
  move,
  onRegion('assign', 'Opens a region on a server.', (admin, region) => admin.assignRegion(region)),
  onRegion('unassign', 'Closes a region on its server.', (admin, region) => admin.unassignRegion(region)),
  regionInfo,
  balanceSwitch,
  balancerEnabled,
  liveServers,
  closeRegion,
];
