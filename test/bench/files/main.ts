/**
 * `npm run bench:files`: entities imported from and exported to files, beside Drizzle on better-sqlite3 with the same durability: CSV by
 * csv-parse and NDJSON by JSON.parse, 1,000 rows a transaction. Each import fills a store of its own, its opening and close included.
 * Contestants take turns in every round; the figure is the median, by the clock and by CPU time.
 *
 * `--rounds N` (default 3), `--rows N` (default 200,000), `--only WORD` (rows of the bench whose name has it), `--json FILE`, `--merge FILE`.
 */

import { closeSync, createReadStream, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { parse } from 'csv-parse';
import { open } from '../../../src/index.js';
import { exportEntities, importEntities } from '../../../src/public/jobs.js';
import { argument, type BenchRow, compareRates, type Measured, report, rowLine, toRow } from '../harness.js';
import { type Contestant, makeReading, projectRoot, type Reading as Row } from '../orm/contestant.js';
import { Reading } from '../orm/rowan.js';

const BATCH = 1000;

type Format = 'csv' | 'ndjson';

/** How a program without a tool for it reads and writes a file. */
const READERS: Readonly<Record<Format, (file: string) => AsyncIterable<Row>>> = {
  async *csv(file) {
    const records = createReadStream(file).pipe(parse({ columns: true }));
    for await (const record of records as AsyncIterable<Record<string, string>>) {
      const { sensor, seq, kind, unit, value, quality, valid, takenAt } = record;
      const numbers = { seq: Number(seq), value: Number(value), quality: Number(quality) };
      const times = { valid: valid === 'true', takenAt: new Date(takenAt!) };
      yield { sensor: sensor!, kind: kind!, unit: unit!, ...numbers, ...times };
    }
  },
  async *ndjson(file) {
    for await (const line of createInterface({ input: createReadStream(file) })) {
      const one = JSON.parse(line) as Row;
      one.takenAt = new Date(one.takenAt);
      yield one;
    }
  },
};
const WRITERS: Readonly<Record<Format, (one: Row) => string>> = {
  csv: (one) =>
    [
      one.sensor,
      one.seq,
      one.kind,
      one.unit,
      one.value,
      one.quality,
      one.valid,
      one.takenAt.toISOString(),
    ].join(),
  ndjson: (one) => JSON.stringify(one),
};

const rounds = Number(argument('--rounds') ?? 3);
const rows = Number(argument('--rows') ?? 200_000);
const only = argument('--only') ?? '';
const measured: BenchRow[] = [];
const folder = mkdtempSync(join(projectRoot, '.rowan-bench-files-'));
let lives = 0;
try {
  const drizzle = join(projectRoot, 'test/bench/orm/peers/drizzle.mjs');
  const { openDrizzle } = (await import(pathToFileURL(drizzle).href)) as {
    openDrizzle(at: string): Promise<Contestant>;
  };
  const peer = await openDrizzle(newFolder());
  for (let at = 0; at < rows; at += BATCH) peer.put(readings(at));
  const db = await open({ path: newFolder(), entities: [Reading] });
  for (let at = 0; at < rows; at += BATCH) await db.repository(Reading).putMany(readings(at));
  const schema = db.schema.entity(Reading);
  const stored = db.repository(Reading).find({}, { fullScan: true });
  for (const format of ['csv', 'ndjson'] as const) {
    const files = newFolder();
    await exportEntities(db.engine, stored, schema, files, { format });
    const [file] = (await readdir(files)).map((name) => join(files, name));
    await row(`import of ${format.toUpperCase()}`, {
      rowan: async () => {
        const at = newFolder();
        const into = await open({ path: at, entities: [Reading] });
        await importEntities(into.engine, into.repository(Reading), schema, [file!], { format });
        await into.close();
        rmSync(at, { recursive: true });
        return rows;
      },
      drizzle: async () => {
        const at = newFolder();
        const into = await openDrizzle(at);
        let batch: Row[] = [];
        for await (const one of READERS[format](file!)) {
          batch.push(one);
          if (batch.length < BATCH) continue;
          into.put(batch);
          batch = [];
        }
        if (batch.length > 0) into.put(batch);
        await into.close();
        rmSync(at, { recursive: true });
        return rows;
      },
    });
    await row(`export to ${format.toUpperCase()}`, {
      rowan: async () => {
        const at = newFolder();
        await exportEntities(db.engine, stored, schema, at, { format });
        rmSync(at, { recursive: true });
        return rows;
      },
      drizzle: async () => {
        const to = openSync(join(newFolder(), 'exported'), 'w');
        let lines: string[] = [];
        for (const one of await peer.all()) {
          lines.push(WRITERS[format](one));
          if (lines.length < BATCH) continue;
          writeSync(to, `${lines.join('\n')}\n`);
          lines = [];
        }
        if (lines.length > 0) writeSync(to, `${lines.join('\n')}\n`);
        closeSync(to);
        return rows;
      },
    });
  }
  await db.close();
  await peer.close();
  report(measured);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function newFolder(): string {
  const path = join(folder, String(lives++));
  mkdirSync(path);
  return path;
}

function readings(from: number): Row[] {
  return Array.from({ length: Math.min(BATCH, rows - from) }, (_, i) =>
    makeReading((from + i) % 97, from + i),
  );
}

async function row(title: string, contestants: Record<string, Measured>): Promise<void> {
  if (!title.toLowerCase().includes(only.toLowerCase())) return;
  const rates = await compareRates(contestants, rounds);
  const found = { ...toRow(title, 'rows/s', rates.wall), processor: rates.processor };
  console.log(rowLine(found));
  measured.push(found);
}
