/**
 * `rowan-orm/testing`: helpers for tests of programs that use Rowan: a database in memory, a clock that tests set,
 * fixtures, and assertions about query plans. They work with any test runner; docs/testing.md shows three.
 */

export {
  type CrashOptions,
  MemoryFileSystem,
  type MemoryFileSystemOptions,
  type MemoryOperation,
} from './fs/memory-fs.js';
export {
  expectPlan,
  type FactoryOptions,
  type FactoryValues,
  type Fixture,
  factory,
  fixture,
  forkMemory,
  type MemoryOptions,
  openMemory,
  type PlanExpectation,
  type SeededFaker,
  type SettableClock,
  settableClock,
} from './open-memory.js';
export { startServer, type TestServer, type TestServerOptions } from './start-server.js';
