import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromHex } from '../../src/bytes/index.js';

const PAGE = readFileSync(join(process.cwd(), 'docs/formats.md'), 'utf8');

/** The block of docs/formats.md that follows `<!-- golden: name -->`. */
export function goldenText(name: string): string {
  const marker = `<!-- golden: ${name} -->\n\`\`\`text\n`;
  const from = PAGE.indexOf(marker);
  if (from < 0) throw new Error(`docs/formats.md has no golden block "${name}".`);
  const begin = from + marker.length;
  return PAGE.slice(begin, PAGE.indexOf('```', begin));
}

/** Its bytes, written as hex digits; what follows a # is a comment. */
export function goldenBytes(name: string): Uint8Array {
  return fromHex(goldenText(name).replace(/#.*$/gm, '').replace(/\s+/g, ''));
}
