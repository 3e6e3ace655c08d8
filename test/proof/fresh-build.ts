import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Refuses to run tests on a build that is older than the sources. @throws Error naming the first changed file. */
export function setup(): void {
  const bundled = statSync(join(ROOT, 'dist/index.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  for (const folder of ['src', 'decorators']) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      // The page of the studio is bundled, not compiled with the other sources.
      const ofPage = folder === 'src' && /^studio.page.[^.]+\.(tsx?|css|html)$/.test(name);
      if (!name.endsWith('.ts') && !ofPage) continue;
      const built = ofPage
        ? join(ROOT, 'dist/studio/studio.js')
        : join(ROOT, 'build', folder, name.replace(/\.ts$/, '.js'));
      const time = Math.min(bundled, statSync(built, { throwIfNoEntry: false })?.mtimeMs ?? 0);
      if (time < statSync(join(ROOT, folder, name)).mtimeMs)
        throw new Error(
          `${join(folder, name)} was changed and not built. Tests run the build: npm run build.`,
        );
    }
  }
}
