/** What the pages have beyond Markdown as VitePress knows it. */

import { posix } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { references } from '../place.mjs';

/** Blocks of Mermaid are drawn in the browser (theme/Diagram.vue). */
export function showsDiagrams(md: MarkdownRenderer): void {
  const fence = md.renderer.rules.fence!;
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const { info, content } = tokens[index]!;
    if (info.trim() !== 'mermaid') return fence(tokens, index, options, env, self);
    return `<Diagram code="${encodeURIComponent(content)}" />`;
  };
}

/** Where files of the repository that are no pages can be read. */
const PACKAGE = 'https://unpkg.com/browse/rowan-orm/';

/** Links are written for readers of the files: to README.md, which is the index of its folder here, and out of docs/. */
export function showsOwnLinks(md: MarkdownRenderer): void {
  md.core.ruler.after('inline', 'rowan-links', ({ tokens, env }) => {
    const page: string = env.relativePath ?? '';
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || /^[a-z]+:|^#/.test(href)) continue;
      const path = posix.join(posix.dirname(page), href);
      const reference = references.get(path.replace(/\.md$/, ''));
      if (reference !== undefined) {
        token.attrSet('href', reference);
        token.attrSet('target', '_self');
        continue;
      }
      const isOutside = path.startsWith('..');
      token.attrSet('href', isOutside ? PACKAGE : href.replace(/(^|\/)README\.md(?=$|#)/, '$1index.md'));
    }
  });
}
