import { crc32 } from '../../src/bytes/index.js';
import type { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { STORE } from './workload.js';

/** Every file with its bytes: two crashes that leave the same need one recovery. */
export function imageOf(files: MemoryFileSystem): number {
  if (!files.exists(STORE)) return 0;
  let crc = 0;
  for (const name of files.readdir(STORE)) {
    const title = Buffer.from(name);
    const bytes = files.contents(`${STORE}/${name}`);
    crc = crc32(bytes, 0, bytes.length, crc32(title, 0, title.length, crc));
  }
  return crc;
}
