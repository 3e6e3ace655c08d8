/** `rowan-orm/nestjs` in applications of NestJS: what is injected, what is closed, what tests put in its place. */

import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Global, Inject, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Column, Entity, part, rowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import {
  getDatabaseToken,
  getRepositoryToken,
  InjectDatabase,
  InjectRepository,
  RowanHealthIndicator,
  RowanModule,
  RowanShutdown,
} from '../../src/nestjs/index.js';
import type { Repository } from '../../src/repository/index.js';
import { openMemory } from '../../src/testing/index.js';

@Entity({ table: { name: 'nest_notes', families: { d: {} } }, changes: { keep: 60_000 } })
class Note {
  static readonly key = rowKey(part('id'));
  id!: string;
  @Column('d:t', text) title!: string;
}

@Entity({ table: { name: 'nest_tags', families: { d: {} } } })
class Tag {
  static readonly key = rowKey(part('id'));
  id!: string;
}

@Injectable()
class NoteService {
  constructor(
    @InjectRepository(Note) readonly notes: Repository<typeof Note>,
    @Inject(Database) readonly database: Database,
    @Inject(RowanShutdown) readonly shutdown: RowanShutdown,
  ) {}
}

@Module({ imports: [RowanModule.forFeature([Note])], providers: [NoteService], exports: [NoteService] })
class NoteModule {}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-nest-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('RowanModule', () => {
  it('opens the store, gives modules their repositories, and closes the store with the application', async () => {
    const path = join(folder, 'root');
    const app = await Test.createTestingModule({
      imports: [RowanModule.forRoot({ path, entities: [Note] }), NoteModule],
    }).compile();
    await app.init();
    const { notes, database, shutdown } = app.get(NoteService);
    expect(notes).toBe(database.repository(Note));
    await notes.put({ id: 'n1', title: 'Hello' });
    // A feed without an end of its own ends with the application, before the database is closed.
    const feed = database.watch(Note, {}, { signal: shutdown.signal });
    const ended = expect(feed[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    await app.close();
    await ended;
    await expect(notes.get({ id: 'n1' })).rejects.toMatchObject({ code: 'ERR_CLOSED' });

    const again = await Test.createTestingModule({
      imports: [RowanModule.forRoot({ path, entities: [Note] }), NoteModule],
    }).compile();
    expect(await again.get(NoteService).notes.get({ id: 'n1' })).toEqual({ id: 'n1', title: 'Hello' });
    await again.close();
  });

  it('takes options that other providers make', async () => {
    @Global()
    @Module({ providers: [{ provide: 'folder', useValue: join(folder, 'async') }], exports: ['folder'] })
    class Settings {}

    const app = await Test.createTestingModule({
      imports: [
        RowanModule.forRootAsync({
          imports: [Settings],
          inject: ['folder'],
          useFactory: async (path: string) => ({ path, entities: [Note] }),
        }),
        NoteModule,
      ],
    }).compile();
    expect(app.get(NoteService).database.engine.place).toBe(join(folder, 'async'));
    await app.close();
  });

  it('has several databases by their names', async () => {
    @Injectable()
    class Both {
      constructor(
        @InjectRepository(Note) readonly notes: Repository<typeof Note>,
        @InjectRepository(Note, 'archive') readonly archived: Repository<typeof Note>,
        @InjectDatabase('archive') readonly archive: Database,
      ) {}
    }
    const app = await Test.createTestingModule({
      imports: [
        RowanModule.forTesting({ entities: [Note] }),
        RowanModule.forTesting({ entities: [Note], name: 'archive' }),
        RowanModule.forFeature([Note]),
        RowanModule.forFeature([Note], 'archive'),
      ],
      providers: [Both],
    }).compile();
    await app.init();
    const { notes, archived, archive } = app.get(Both);
    await archived.put({ id: 'old', title: 'Old' });
    expect(await notes.exists({ id: 'old' })).toBe(false);
    expect(archived).toBe(archive.repository(Note));
    expect(app.get(getDatabaseToken('archive'))).toBe(archive);
    await app.close();
    await expect(archived.get({ id: 'old' })).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });

  it('lets a test put a database in memory, or a repository, in the place of the real ones', async () => {
    const path = join(folder, 'never-opened');
    const app = await Test.createTestingModule({
      imports: [RowanModule.forRoot({ path, entities: [Note] }), NoteModule],
    })
      .overrideProvider(Database)
      .useFactory({ factory: () => openMemory({ entities: [Note] }) })
      .compile();
    await app.init();
    expect(app.get(NoteService).database.engine.place).toBe('/memory');
    await app.close();
    await expect(app.get(NoteService).notes.get({ id: 'n' })).rejects.toMatchObject({ code: 'ERR_CLOSED' });

    const stub = { get: () => ({ id: 's', title: 'Stub' }) };
    const stubbed = await Test.createTestingModule({
      imports: [RowanModule.forTesting({ entities: [Note] }), NoteModule],
    })
      .overrideProvider(getRepositoryToken(Note))
      .useValue(stub)
      .compile();
    expect(stubbed.get(NoteService).notes).toBe(stub);
    await stubbed.close();
  });

  it('names an entity that the database was not opened with', async () => {
    const compiling = Test.createTestingModule({
      imports: [RowanModule.forTesting({ entities: [Note] }), RowanModule.forFeature([Tag])],
    }).compile();
    await expect(compiling).rejects.toThrow(/Tag/);
  });
});

describe('RowanHealthIndicator', () => {
  it('is up while the tables answer, and down without throwing when they do not', async () => {
    const app = await Test.createTestingModule({
      imports: [RowanModule.forTesting({ entities: [Note, Tag] })],
    }).compile();
    await app.init();
    const health = app.get(RowanHealthIndicator);
    expect(await health.isHealthy()).toMatchObject({
      rowan: {
        status: 'up',
        engine: 'embedded',
        tables: { nest_notes: { status: 'up' }, nest_tags: { status: 'up' } },
      },
    });
    await app.close();
    expect(await health.isHealthy('store')).toMatchObject({
      store: { status: 'down', tables: { nest_notes: { status: 'down', error: 'ERR_CLOSED' } } },
    });
  });
});
