import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Lists the files below a folder, by their relative paths. Omits the folders that tests write for compilers, since
 * they change meanwhile.
 */
export function filesBelow(folder: string, path = ''): string[] {
  return readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name === '.cache') return [];
    const name = join(path, entry.name);
    return entry.isDirectory() ? filesBelow(folder, name) : [name];
  });
}
