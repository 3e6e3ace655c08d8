import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { open } from '../../src/database.js';
import { openEmbedded } from '../../src/store/engine.js';
import { Put, tableDescriptor } from '../../src/table/index.js';
import { Old } from './fixtures/rekeyed.js';
import { run } from './run.js';

test('a table is declared from its stamps, one of another program from its rows', async () => {
  const store = mkdtempSync(join(tmpdir(), 'rowan-introspect-'));
  try {
    await (await openEmbedded(store)).close();
    expect((await run('introspect', store, 'nothing')).err).toContain(
      'There is no table "nothing". There are no tables.',
    );
    await (await open({ path: store, entities: [Old] })).close();
    const engine = await openEmbedded(store);
    await engine.admin.createTable(tableDescriptor('theirs', { d: {} }), [Buffer.from('m')]);
    const rows = ['a|1', 'b|2', 'm|3', 'z|4'];
    for (const row of rows)
      await engine.table('theirs').put(new Put(row).addColumn('d', 'name', `of ${row}`));
    await engine.close();
    const own = await run('introspect', store, 'olds');
    expect(own).toMatchObject({ code: 0, err: '' });
    expect(own.out).toContain('"color": c.column("d:c", text)');
    const theirs = await run('introspect', store, 'theirs');
    expect(theirs).toMatchObject({ code: 0, err: expect.stringContaining('guessed from 4 rows') });
    expect(theirs.out).toContain(`part('part1', raw.joined("|")), part('part2', raw.string)`);
    expect(theirs.out).toContain('// 100 % of 4 cells agree');
    expect((await run('introspect', store, 'theirs', '--sample', '4')).err).toContain('guessed from 4 rows');
    expect((await run('introspect', store, 'theirs', '--sample', 'x')).code).toBe(1);
    expect((await run('introspect', store, 'nothing')).err).toContain('There is no table "nothing"');
  } finally {
    rmSync(store, { recursive: true, force: true });
  }
});
