/** HBase's Java clients on a served store whose log cannot be synced: they end a change at once, and say that it may be there. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ClassPathName } from '../hbase/server/class-path.js';
import { PROJECT_ROOT } from '../hbase/server/layout.js';
import { runJava } from '../hbase/server/tool.js';
import { endWithLostLog, servedWithFailingLog } from '../server/served.js';
import { clientLayout, registrySettings } from './served-store.js';

const PROGRAM = readFileSync(join(PROJECT_ROOT, 'test/hbase-served/java/FailedSyncs.java'), 'utf8');
/** What the program does, each on a server of its own. */
const KINDS = [...PROGRAM.matchAll(/changes\.put\("(\w+)"/g)].map(([, kind]) => kind!);

it.each<[string, ClassPathName, 'bootstrap' | 'masters', string]>([
  ['2.4', 'server-2.4', 'masters', 'hbase.masters'],
  ['2.6', 'server', 'bootstrap', 'hbase.client.bootstrap.servers'],
  ['3.0', 'client-3.0', 'bootstrap', 'hbase.client.bootstrap.servers'],
])(
  'ends every kind of change in clients of HBase %s at the first answer',
  async (_, version, registry, setting) => {
    const servers = await Promise.all(KINDS.map(() => servedWithFailingLog({ announce: 'localhost' })));
    try {
      const addresses = servers.map(({ endpoint }) => endpoint.replace('127.0.0.1', 'localhost'));
      const layout = await clientLayout(registry, registrySettings(registry, addresses[0]!));
      const args = [setting, ...addresses];
      const output = await runJava(layout, { FailedSyncs: PROGRAM }, 'FailedSyncs', args, version);
      const outcomes = (what: string): string[] =>
        [...output.matchAll(new RegExp(`^${what}\\t(.*)$`, 'gm'))].map(([, text]) => text!);
      expect(outcomes('read')).toEqual(KINDS.map((kind) => `${kind}\ttrue`));
      const first = outcomes('first');
      expect(first.map((text) => text.split('\t')[0])).toEqual(KINDS);
      for (const text of first) {
        expect(text).toMatch(
          /DoNotRetryIOException: (?:.*DoNotRetryIOException: )?Failed to get sync result: /,
        );
        // A client that repeats the change is refused, and says only this.
        expect(text).not.toContain('server is read only');
      }
      for (const text of outcomes('later')) {
        expect(text).toContain('server is read only');
        expect(text).not.toContain('Failed to get sync result');
      }
    } finally {
      await Promise.all(servers.map(endWithLostLog));
    }
  },
);
