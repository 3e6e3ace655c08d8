/** Listens at the socket it is given, says so, and never comes to answer. */
import { createServer } from 'node:net';

const [path] = process.argv.slice(2);
createServer().listen({ path, backlog: 1 }, () => {
  process.stdout.write('busy\n', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
});
