/** status, version, whoami, table_help. */

import { userInfo } from 'node:os';
import { isCluster } from '../cluster.js';
import type { ShellCommand, ShellContext } from '../command.js';
import { describeCommand } from '../describe.js';
import { CommandError, textOf } from '../options.js';

const status: ShellCommand = {
  name: 'status',
  group: 'general',
  minArguments: 0,
  maxArguments: 2,
  summary: 'Prints how many servers there are, and their load.',
  examples: ['status', "status 'simple'", "status 'summary'", "status 'detailed'"],
  async run(shell, [format = 'summary']) {
    const wanted = textOf(format);
    if (wanted === 'replication') throw new CommandError('Rowan has no replication; use the shell of HBase.');
    const servers = await serversOf(shell);
    if (wanted !== 'simple' && wanted !== 'detailed') {
      const regions = servers.reduce((sum, server) => sum + server.regions, 0);
      const average = (servers.length === 0 ? 0 : regions / servers.length).toFixed(4);
      shell.print(
        `1 active master, 0 backup masters, ${servers.length} servers, 0 dead, ${average} average load`,
      );
      return null;
    }
    shell.print(`active master:  ${isCluster(shell.admin) ? await shell.admin.getMaster() : 'embedded'}`);
    shell.print('0 backup masters');
    shell.print(`${servers.length} live servers`);
    for (const { name, regions } of servers) {
      shell.print(`    ${name}`);
      shell.print(`        numberOfOnlineRegions=${regions}`);
      if (wanted === 'detailed') await printRegions(shell, name);
    }
    shell.print('0 dead servers');
    return null;
  },
};

async function serversOf(shell: ShellContext): Promise<{ name: string; regions: number }[]> {
  if (isCluster(shell.admin)) {
    const servers = await shell.admin.getServers();
    return servers.map(({ host, port, startCode, regions }) => ({
      name: `${host}:${port} ${startCode}`,
      regions,
    }));
  }
  let regions = 0;
  for (const { name } of await shell.admin.listTables())
    regions += (await shell.admin.getRegions(name)).length;
  return [{ name: 'embedded', regions }];
}

async function printRegions(shell: ShellContext, server: string): Promise<void> {
  const place = server.replace(/[: ]/g, ',');
  for (const { name } of await shell.admin.listTables()) {
    if (!(await shell.admin.isTableEnabled(name))) continue;
    for (const region of await shell.admin.getRegions(name)) {
      if (region.server !== place) continue;
      const { storeFiles, storeFileSize, memstoreSize, readRequests, writeRequests } = region;
      shell.print(`        "${region.name}"`);
      shell.print(
        `            storefileCount=${storeFiles}, storefileSizeMB=${Math.floor(storeFileSize / 2 ** 20)}, ` +
          `memstoreSizeMB=${Math.floor(memstoreSize / 2 ** 20)}, readRequestsCount=${readRequests}, ` +
          `writeRequestsCount=${writeRequests}`,
      );
    }
  }
}

const version: ShellCommand = {
  name: 'version',
  group: 'general',
  minArguments: 0,
  maxArguments: 0,
  summary: 'Prints the version of Rowan.',
  examples: ['version'],
  async run(shell) {
    shell.print(shell.version);
    return null;
  },
};

const whoami: ShellCommand = {
  name: 'whoami',
  group: 'general',
  minArguments: 0,
  maxArguments: 0,
  summary: 'Prints the user name of this process, which HBase sees.',
  examples: ['whoami'],
  async run(shell) {
    shell.print(`${userInfo().username} (auth:SIMPLE)`);
    return null;
  },
};

const tableHelp: ShellCommand = {
  name: 'table_help',
  group: 'general',
  minArguments: 0,
  maxArguments: 0,
  summary: 'Lists the commands that can be called on a table.',
  examples: ['table_help'],
  async run(shell) {
    shell.print(
      describeCommand(tableHelp) +
        "\nA table is answered by create and get_table: t = get_table 't1'. Every command that takes a table first can be\n" +
        "called on it without its name: t.put 'r', 'f:q', 'v'; t.scan; t.get 'r'; t.count; t.disable; t.drop.",
    );
    return null;
  },
};

export const GENERAL: readonly ShellCommand[] = [status, version, tableHelp, whoami];
