/** The quickstart: flights of 2001 in an embedded store. A second run finds what the first one stored. */

import Table from 'cli-table3';
import { type Database, type EmbeddedEngine, open, schemaScript } from 'rowan-orm';
import { Airport, Flight } from './entities.js';
import { load, PATH } from './load.js';

const FEBRUARY = { gte: new Date('2001-02-01T00:00:00Z'), lt: new Date('2001-03-01T00:00:00Z') };

await using database = await open({ path: PATH, entities: [Airport, Flight] });

const report = await load(database);
if (report === undefined) console.log(`The store ${PATH} has the data already.`);
else {
  const rate = Math.round(report.entities / report.seconds);
  console.log(
    `Stored ${report.entities} entities in ${report.seconds.toFixed(2)} s, ${rate} a second, each synced to the disk.`,
  );
  await database.admin.flush('travel:flights');
}

const flights = database.repository(Flight);

heading('Flights from LAX to OAK in February 2001');
const route = flights.find({ iata: 'LAX', departedAt: FEBRUARY }).where({ destination: 'OAK' });
printFlights(await route.all());
console.log(`\n${route.explain()}`);

heading('The latest ten departures of SFO');
const latest = flights.find({ iata: 'SFO' }).limit(10);
printFlights(await latest.all());
console.log(`\n${latest.explain()}`);

heading('Burlington, Vermont, and its flights, in one scan');
const airport = database.collection([Airport, Flight], { iata: 'BTV' });
const rows = await airport.groups();
for (const { name, city, state, latitude, longitude } of rows.of(Airport)) {
  console.log(`${name}, ${city}, ${state} (${latitude}, ${longitude}): ${rows.of(Flight).length} flights`);
}
printFlights(rows.of(Flight).slice(0, 5));
console.log(`\n${airport.explain()}`);

heading('Bytes on disk');
printSizes(database);

heading('The same table for HBase (rowan ddl)');
console.log(schemaScript(database.schema.tables));

function heading(text: string): void {
  console.log(`\n${text}\n${'-'.repeat(text.length)}`);
}

/** Columns side by side, without colours and frames: it is for the README, too. */
function plainTable(head: string[]): Table.Table {
  const edges = [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
  ];
  const inner = ['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'];
  const chars = Object.fromEntries([...edges, ...inner].map((edge) => [edge, '']));
  return new Table({ head, chars, style: { head: [], border: [], 'padding-left': 2, 'padding-right': 0 } });
}

function printFlights(list: readonly Flight[]): void {
  const table = plainTable(['departed', 'from', 'to', 'delay', 'miles']);
  for (const flight of list) {
    const departed = flight.departedAt.toISOString().slice(0, 16).replace('T', ' ');
    table.push([departed, flight.iata, flight.destination, `${flight.delay} min`, flight.distance]);
  }
  console.log(table.toString().replace(/ +$/gm, ''));
}

function printSizes(db: Database<EmbeddedEngine>): void {
  const table = plainTable(['family', 'compression', 'cells', 'bytes in', 'bytes on disk']);
  for (const { descriptor } of db.schema.tables) {
    for (const { name, compression } of descriptor.families) {
      const regions =
        db.engine.stats().tables.find((other) => other.table === descriptor.name)?.regions ?? [];
      const parts = regions.flatMap((region) => region.families.filter(({ family }) => family === name));
      const sum = (of: (part: (typeof parts)[number]) => number): number =>
        parts.reduce((total, part) => total + of(part), 0);
      table.push([name, compression, sum((p) => p.cells), sum((p) => p.rawBytes), sum((p) => p.fileBytes)]);
    }
  }
  console.log(table.toString().replace(/ +$/gm, ''));
}
