/** Opens a store to be read and holds it until it is killed. Usage: follow-reader.ts <folder> */
import { openReadOnly } from '../../src/store/read-only/read-only-store.js';

await openReadOnly(process.argv[2]!);
process.stdout.write('open\n');
setInterval(() => undefined, 1000);
