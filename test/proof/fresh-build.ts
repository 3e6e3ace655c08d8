import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Tests run what was built: not what was built before somebody changed it. @throws Error naming the first such file. */
export function setup(): void {
  for (const folder of ['src', 'decorators']) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue;
      const built = join(ROOT, 'dist', folder, name.replace(/\.ts$/, '.js'));
      const time = statSync(built, { throwIfNoEntry: false })?.mtimeMs;
      if (time === undefined || time < statSync(join(ROOT, folder, name)).mtimeMs)
        throw new Error(
          `${join(folder, name)} was changed and not built. Tests run the build: npm run build.`,
        );
    }
  }
}
