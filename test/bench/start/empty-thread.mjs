/** A thread that does nothing but say that it runs: what any thread takes to start. */

import { parentPort } from 'node:worker_threads';

parentPort.postMessage('ready');
