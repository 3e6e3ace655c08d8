/**
 * `rowan-orm/testing`: what tests of programs that use Rowan need. A database in memory, a clock that is set by hand,
 * fixtures, and a look at plans. None of it depends on a test runner; docs/testing.md shows three.
 */

export {
  type CrashOptions,
  MemoryFileSystem,
  type MemoryFileSystemOptions,
  type MemoryOperation,
} from './fs/memory-fs.js';
export {
  expectPlan,
  type Fixture,
  fixture,
  forkMemory,
  type MemoryOptions,
  openMemory,
  type PlanExpectation,
  type SettableClock,
  settableClock,
} from './open-memory.js';
export { startServer, type TestServer, type TestServerOptions } from './start-server.js';
