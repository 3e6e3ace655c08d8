/** The table of web pages of the Bigtable paper: reversed domains, versions of the text, a column for each link. */

// #region entity
import {
  Column,
  Columns,
  Entity,
  part,
  reverseDomain,
  rowKey,
  Table,
  text,
  type Versioned,
  Versions,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({
  name: 'cookbook:webtable',
  families: { contents: { versions: 3, compression: 'GZ' }, anchor: {}, people: {} },
})
class WebTable {}

@Entity({ table: WebTable, marker: 'people' })
class WebPage {
  static readonly key = rowKey(reverseDomain('host'), part('path', text));
  host!: string;
  path!: string;
  @Versions('contents:html', text) html!: Versioned<string>[];
  /** The text of each link that leads here, by the page that has it. */
  @Columns('anchor:', { key: text, value: text }) anchors!: Map<string, string | null>;
  @Column('people:author', text) author?: string | null;
}
// #endregion

await using recipe = await openRecipe([WebPage]);
const pages = recipe.db.repository(WebPage);

const cnn = { host: 'www.cnn.com', path: '/' };
await pages.put(
  {
    ...cnn,
    anchors: new Map([
      ['cnnsi.com', 'CNN'],
      ['my.look.ca', 'CNN.com'],
    ]),
  },
  { timestamp: 3 },
);
for (const timestamp of [3, 5, 6]) {
  const html = [{ value: `<html>… of ${timestamp}`, timestamp }];
  await pages.update(cnn, { html });
}
await pages.put({ host: 'money.cnn.com', path: '/', author: 'Ann' });
await pages.put({ host: 'www.example.com', path: '/', author: 'John Doe' });

recipe.section('keys');
recipe.key(WebPage, cnn);
recipe.key(WebPage, { host: 'money.cnn.com', path: '/' });
recipe.key(WebPage, { host: 'www.example.com', path: '/' });

recipe.section('queries');
// #region queries
await recipe.show('A page with its versions and links', pages.find(cnn));
await recipe.show(
  'Every page below cnn.com, without texts',
  pages.find({ host: { endsWith: '.cnn.com' } }).select('author'),
);
await recipe.show(
  'Who links as "CNN"?',
  pages.find(cnn).slice('anchors', { gte: 'cnn', lt: 'cno' }).select('anchors'),
);
recipe.print('> The texts up to time 5');
recipe.print(...(await pages.history(cnn, 'html', { to: 5 })));
// #endregion

recipe.section('cost');
await recipe.size('cookbook:webtable');
