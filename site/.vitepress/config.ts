/** The site of the pages in docs/, as they stand there: nothing is copied, and `docs/README.md` is also its table of contents. */

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitepress';
import { textsOf } from '../llms.js';
import { contentsOf } from './contents.js';
import { showsDiagrams, showsOwnLinks } from './markdown.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const THIS = fileURLToPath(import.meta.url);
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string };
const contents = contentsOf(`${ROOT}docs`);

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
  outDir: 'dist',
  cacheDir: '.cache',
  rewrites: { 'README.md': 'index.md', 'cookbook/README.md': 'cookbook/index.md' },
  // The pages' address below a host: ROWAN_SITE_BASE=/rowan/ for a project's page.
  base: process.env['ROWAN_SITE_BASE'] ?? '/',
  metaChunk: true,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    config(md) {
      showsDiagrams(md);
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
  },
  vite: { plugins: [findsPackages] },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      ...contents.map(({ text, items }) => ({ text, link: items[0]!.items[0]!.link })),
      { text: 'Cookbook', link: '/cookbook/' },
      { text: `v${version}`, link: 'https://unpkg.com/rowan-orm/CHANGELOG.md' },
    ],
    sidebar: contents.flatMap(({ items }) => items),
  },
});
