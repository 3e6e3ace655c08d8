/** Locks the folder it is given and says so; then holds on until it is killed, or with "end" comes to its end. */
import { NodeFileSystem } from '../../src/store/fs/index.js';

const [directory, then] = process.argv.slice(2);
await new NodeFileSystem().lock(directory!);
process.stdout.write('locked\n');
if (then !== 'end') setInterval(() => {}, 60_000);
