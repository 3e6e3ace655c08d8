/** Notes with tags: the notes of one tag, of two tags, and the number of notes of a tag. */

// #region entity
import { Column, Columns, Entity, index, part, rowKey, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:notes', families: { d: {}, t: {} } })
class Notes {}

/** A column for each tag: two people can add tags at the same time. */
@Entity({ table: Notes })
class Note {
  static readonly key = rowKey(part('id', text));
  static readonly indexes = { byTag: index('tags', { each: 'keys' }) };
  id!: string;
  @Column('d:t', text) title!: string;
  @Columns('t:', { key: text, value: text }) tags!: Map<string, string | null>;
}
// #endregion

await using recipe = await openRecipe([Note]);
const notes = recipe.db.repository(Note);

// #region writes
const tagged = (...tags: string[]): Map<string, string> => new Map(tags.map((tag) => [tag, '']));
await notes.putMany([
  { id: 'n1', title: 'Salts', tags: tagged('keys', 'hbase') },
  { id: 'n2', title: 'Tall or wide', tags: tagged('keys') },
  { id: 'n3', title: 'Regions', tags: tagged('hbase') },
]);
await notes.update({ id: 'n2' }, { tags: tagged('draft') }); // adds one
await notes.mutate({ id: 'n2' }, (row) => row.set({ tags: new Map([['draft', null]]) })); // removes it
// #endregion

recipe.section('keys');
recipe.key(Note, { id: 'n1' });

recipe.section('queries');
// #region queries
const byTag = notes.by('byTag');
await recipe.show('Notes about keys', byTag.find({ tags: 'keys' }).select('title'));
await recipe.show(
  'Notes about keys and HBase',
  byTag
    .find({ tags: 'keys' })
    .where((w) => w.entry('tags', 'hbase', { exists: true }))
    .select('title', 'tags'),
);
recipe.print(`> Drafts: ${await byTag.find({ tags: 'draft' }).count()}`);
// #endregion
