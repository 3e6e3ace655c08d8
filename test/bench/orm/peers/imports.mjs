/** What a program of each peer imports, and how it opens its database: for `bench:start`. */

export const PEERS = {
  drizzle: {
    import: async () => {
      await import('better-sqlite3');
      await import('drizzle-orm');
      await import('drizzle-orm/better-sqlite3');
      await import('drizzle-orm/sqlite-core');
    },
    open: async (folder) => (await import('./drizzle.mjs')).openDrizzle(folder),
  },
  typeorm: {
    import: () => import('typeorm'),
    open: async (folder) => (await import('./typeorm.mjs')).openTypeOrm(folder),
  },
  'mikro-orm': {
    import: () => import('@mikro-orm/better-sqlite'),
    open: async (folder) => (await import('./mikro-orm.mjs')).openMikroOrm(folder),
  },
};
