/** The order of the pages, read from docs/README.md and docs/cookbook/README.md: what those list stands at the side. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A page, what the table says of it, and its address without the ending. */
interface Link {
  readonly text: string;
  readonly about: string;
  readonly link: string;
}

interface Group {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: Link[];
}

export interface Part {
  readonly text: string;
  readonly items: Group[];
}

/** Parts of the first page that list pages are `## Name`, their groups `### Name` with a table whose rows begin with links. */
export function contentsOf(docs: string): Part[] {
  const parts: Part[] = [];
  for (const section of sections(readFileSync(join(docs, 'README.md'), 'utf8'), '## ')) {
    const items = sections(section.body, '### ').map(({ title, body }) => group(title, body, '/'));
    if (items.length > 0) parts.push({ text: section.title, items });
  }
  const recipes = recipesOf(readFileSync(join(docs, 'cookbook/README.md'), 'utf8'));
  parts[0]!.items.push({
    text: 'Cookbook',
    collapsed: true,
    items: recipes.map((recipe) => ({ ...recipe, link: `/cookbook/${recipe.link}` })),
  });
  return parts;
}

function group(title: string, body: string, base: string): Group {
  const items = body.split('\n').flatMap(linksOf);
  return { text: title, collapsed: true, items: items.map((page) => ({ ...page, link: base + page.link })) };
}

/** The links to pages in the first cell of a row. */
function linksOf(row: string): Link[] {
  const [, first, about] = /^\| (\[.*?) \| (.*) \|$/.exec(row) ?? [];
  return [...(first ?? '').matchAll(/\[([^\]]+)\]\(([\w./-]+?)\.md\)/g)].map(([, text, path]) => ({
    text: text!,
    about: about!,
    link: path!.replace(/README$/, ''),
  }));
}

/** The pages of the cookbook, by number: there the second cell of a row has the link. */
function recipesOf(text: string): Link[] {
  const rows = [...text.matchAll(/^\| (.+) \| \[([^\]]+)\]\((\d[\w-]+)\.md\) \|$/gm)];
  const links = new Map<string, Link>();
  for (const [, about, name, link] of rows) {
    const before = links.get(link!);
    links.set(link!, { text: name!, about: before ? `${before.about}; ${about}` : about!, link: link! });
  }
  return [...links.values()].sort((one, other) => one.link.localeCompare(other.link));
}

function sections(text: string, mark: string): { title: string; body: string }[] {
  return `\n${text}`
    .split(`\n${mark}`)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      return { title: part.slice(0, end), body: part.slice(end) };
    });
}
