/** Loaded before a program: each database that it closes is shown by `db.studio` until the parent process says to go on. */

import { once } from 'node:events';
import { Database } from 'rowan-orm';

const { close } = Database.prototype;

Database.prototype.close = async function shown() {
  const { url, port } = await this.studio({ port: 0 });
  process.send({ url, port });
  await once(process, 'message');
  await close.call(this);
};
