/** The site of the pages in docs/, as they stand there: nothing is copied, and `docs/README.md` is also its table of contents. */

import { cpSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitepress';
import { textsOf } from '../llms.js';
import { base, folder, isRelease, ROOT, references, releases, root, version } from '../place.mjs';
import { contentsOf } from './contents.js';
import { showsDiagrams, showsOwnLinks } from './markdown.js';
import { showsTypes, typesOnHover } from './types.js';

const THIS = fileURLToPath(import.meta.url);
const contents = contentsOf(`${ROOT}docs`).map((part) => ({
  ...part,
  items: part.items.map((group) => ({
    ...group,
    items: group.items.map((page) => {
      const link = references.get(page.link.slice(1));
      return link === undefined ? page : { ...page, link, target: '_self' };
    }),
  })),
}));

/**
 * The pages become modules that import Vue, and stand where no folder above has it. While pages are rendered for the build Node
 * itself finds Vue, and nobody needs Mermaid.
 */
const findsPackages: Plugin = {
  name: 'rowan-finds-packages',
  enforce: 'pre',
  resolveId(source, importer, options) {
    if (options.ssr === true && /^(vue|mermaid)(\/|$)/.test(source)) return { id: source, external: true };
    const isOfPage = importer?.startsWith(`${ROOT}docs/`) === true && /^vue(\/|$)/.test(source);
    return isOfPage ? this.resolve(source, THIS, options) : null;
  },
};

export default defineConfig({
  title: 'Rowan',
  description: 'Typed object mapper for the HBase data model: an embedded store and Apache HBase.',
  lang: 'en-US',
  srcDir: '../docs',
  // The site has the reference in place of the listings.
  srcExclude: ['api/**'],
  ignoreDeadLinks: [/^\/reference\//],
  outDir: folder,
  cacheDir: '.cache',
  rewrites: { 'README.md': 'index.md', 'cookbook/README.md': 'cookbook/index.md' },
  base,
  metaChunk: true,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    codeTransformers: [typesOnHover],
    config(md) {
      showsDiagrams(md);
      showsTypes(md);
      showsOwnLinks(md);
    },
  },
  buildEnd({ outDir }) {
    // For programs that read: the pages as they are written, a list of them, and all of them in one file.
    cpSync(`${ROOT}docs`, outDir, {
      recursive: true,
      filter: (path) => !/\.\w+$/.test(path) || path.endsWith('.md'),
    });
    for (const [name, text] of textsOf(`${ROOT}docs`)) writeFileSync(`${outDir}/${name}`, text);
    if (!isRelease) writeFileSync(`${outDir}/versions.json`, JSON.stringify(releases));
  },
  vite: { plugins: [findsPackages] },
  themeConfig: {
    versions: { root, version, isRelease, releases },
    search: {
      provider: 'local',
      // Types on hover are not searched.
      options: { _render: (text, env, md) => md.render(text, Object.assign(env, { isForSearch: true })) },
    },
    outline: [2, 3],
    nav: [
      ...contents.map(({ text, items }) => ({ text, link: items[0]!.items[0]!.link })),
      { text: 'Cookbook', link: '/cookbook/' },
      { text: 'API', link: '/reference/index.html', target: '_self' },
    ],
    sidebar: contents.flatMap(({ items }) => items),
  },
});
