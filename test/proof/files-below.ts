import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The files below a folder, by their paths from it. What tests write for compilers comes and goes meanwhile, so it is not looked into. */
export function filesBelow(folder: string, path = ''): string[] {
  return readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name === '.cache') return [];
    const name = join(path, entry.name);
    return entry.isDirectory() ? filesBelow(folder, name) : [name];
  });
}
