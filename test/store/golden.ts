import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromHex } from '../../src/bytes/index.js';

/** The pages on file formats, one after the other. */
const PAGES = ['docs/formats.md', 'docs/formats-sorted-files.md']
  .map((page) => readFileSync(join(process.cwd(), page), 'utf8'))
  .join('\n');

/** The block that follows `<!-- golden: name -->` in these pages. */
export function goldenText(name: string): string {
  const marker = `<!-- golden: ${name} -->\n\`\`\`text\n`;
  const from = PAGES.indexOf(marker);
  if (from < 0) throw new Error(`docs/formats*.md have no golden block "${name}".`);
  const begin = from + marker.length;
  return PAGES.slice(begin, PAGES.indexOf('```', begin));
}

/** Its bytes, written as hex digits; what follows a # is a comment. */
export function goldenBytes(name: string): Uint8Array {
  return fromHex(goldenText(name).replace(/#.*$/gm, '').replace(/\s+/g, ''));
}
