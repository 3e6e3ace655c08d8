/** Reads what a cluster's administrators write for its clients: `hbase-site.xml` (Hadoop's `Configuration`). */

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidArgumentError } from '../errors.js';

/** A configuration: HBase's own names and their values, those that refer to others filled in. */
export type Site = ReadonlyMap<string, string>;

const FILE_NAME = 'hbase-site.xml';
/** Values that refer to others may do so over this many steps (as in Hadoop). */
const MOST_STEPS = 20;

/**
 * The configuration in a file, or in the `hbase-site.xml` of a folder.
 * @throws InvalidArgumentError when there is none, or it is no configuration.
 */
export async function readSite(path: string): Promise<Site> {
  let file = path;
  try {
    if ((await stat(path)).isDirectory()) file = join(path, FILE_NAME);
    return parseSite(await readFile(file, 'utf8'), file);
  } catch (cause) {
    if (cause instanceof InvalidArgumentError) throw cause;
    throw new InvalidArgumentError(
      `The configuration ${file} cannot be read: ${(cause as Error).message}. Check the option configuration, or HBASE_CONF_DIR.`,
      { cause },
    );
  }
}

/** Text, comments and marked sections of XML: enough for `<configuration><property><name>…</name><value>…`. */
const TOKEN =
  /<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|<\?[\s\S]*?\?>|<!DOCTYPE[^>]*>|<(\/?)([\w:.-]+)[^>]*?(\/?)>|([^<]+)/gy;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** @throws InvalidArgumentError for text that is no configuration, or includes another file. */
export function parseSite(xml: string, file: string): Site {
  const broken = (why: string): InvalidArgumentError =>
    new InvalidArgumentError(`${file} is no configuration of HBase: ${why}.`);
  const raw = new Map<string, string>();
  const final = new Set<string>();
  const path: string[] = [];
  let property: Record<string, string> = {};
  TOKEN.lastIndex = 0;
  for (let at = 0; at < xml.length; at = TOKEN.lastIndex) {
    const match = TOKEN.exec(xml);
    if (match === null) throw broken(`its markup is broken at character ${at}`);
    const [, section, closing, tag, empty, text] = match;
    const here = path.join('/');
    if (section !== undefined || text !== undefined) {
      const field = /^configuration\/property\/(\w+)$/.exec(here)?.[1];
      if (field !== undefined) property[field] = (property[field] ?? '') + (section ?? unescapeXml(text!));
    } else if (tag === undefined || empty === '/') {
      if (tag === 'xi:include') throw broken('it includes another file, which is not supported');
    } else if (closing === '') {
      path.push(tag);
      if (path.join('/') === 'configuration/property') property = {};
    } else {
      if (path.pop() !== tag) throw broken(`</${tag}> closes another element`);
      const name = property['name']?.trim();
      if (here !== 'configuration/property' || name === undefined) continue;
      if (property['value'] !== undefined && !final.has(name)) raw.set(name, property['value'].trim());
      if (property['final']?.trim() === 'true') final.add(name);
    }
  }
  if (path.length > 0) throw broken(`<${path.at(-1)}> is not closed`);
  return new Map([...raw].map(([name, value]) => [name, expand(value, raw)]));
}

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Fills in `${other.name}` and `${env.NAME}`. What is not known stays as it is. */
function expand(value: string, raw: ReadonlyMap<string, string>): string {
  let text = value;
  for (let step = 0; step < MOST_STEPS && text.length < 65536; step++) {
    const filled = text.replace(/\$\{([^}$\s]+)\}/g, (whole, name: string) => {
      if (name.startsWith('env.')) return process.env[name.slice(4)] ?? whole;
      return raw.get(name) ?? whole;
    });
    if (filled === text) break;
    text = filled;
  }
  return text;
}
