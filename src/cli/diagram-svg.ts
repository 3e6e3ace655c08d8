import { Graph, layout } from '@dagrejs/dagre';
import type { Diagram } from '../schema/diagram.js';

type Entity = Diagram['entities'][number];
type Link = Diagram['links'][number];

/** In pixels, as all of these. The width of a letter of the font at its size. */
const LETTER = 7.25;
const FONT_SIZE = 12;
const LINE = 18;
const PADDING = 10;
const MARGIN = 16;
/** Between the columns of a box, in letters. */
const GAP = 2;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** A box or a label, by its center. */
interface Placed extends Point {
  readonly width: number;
  readonly height: number;
}

/**
 * An entity-relationship diagram as a picture: boxes of entities, and lines with the feet of crows where there are many.
 * `@dagrejs/dagre` places them. The letters are of one width, so that no browser is needed to measure them.
 */
export function svgDiagram({ entities, links }: Diagram): string {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', nodesep: 30, ranksep: 60, marginx: MARGIN, marginy: MARGIN });
  for (const entity of entities) graph.setNode(entity.name, sizeOf(entity));
  for (const [at, { from, to, label }] of links.entries()) {
    const size = { width: label.length * LETTER + PADDING, height: LINE, labelpos: 'c' as const };
    graph.setEdge(from, to, size, String(at));
  }
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const [w, h] = [Math.ceil(width), Math.ceil(height)];
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" role="img" font-family="ui-monospace, monospace" font-size="${FONT_SIZE}">`,
    `<title>Entities: ${escaped(entities.map(({ name }) => name).join(', '))}</title>`,
    STYLE,
    MARKERS,
    ...links.map((link, at) =>
      drawLink(link, graph.edge({ v: link.from, w: link.to, name: String(at) }) as unknown as Line),
    ),
    ...entities.map((entity) => drawEntity(entity, graph.node(entity.name) as unknown as Placed)),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

interface Line extends Point {
  readonly points: readonly Point[];
}

/** Of both schemes of colors: the picture stands in pages. */
const STYLE = `<style>
.box { fill: #fff; stroke: #57606a; } .head { fill: #eaeef2; } .line { fill: none; stroke: #57606a; } .copies { stroke-dasharray: 4 3; }
text { fill: #1f2328; } .type, .label { fill: #57606a; } .name { font-weight: bold; }
.end { fill: #fff; stroke: #57606a; } .back { fill: #fff; }
@media (prefers-color-scheme: dark) {
.box, .end, .back { fill: #0d1117; } .head { fill: #21262d; } .box, .line, .end { stroke: #8b949e; } text { fill: #e6edf3; } .type, .label { fill: #9da7b3; }
}
</style>`;

/** The ends of lines, drawn towards the box: none or many, none or one. */
const MARKERS = `<defs>
<marker id="many" viewBox="0 0 20 14" refX="19" refY="7" markerWidth="20" markerHeight="14" orient="auto-start-reverse"><circle class="end" cx="5" cy="7" r="4"/><path class="line" d="M9 7L19 1M9 7H19M9 7L19 13"/></marker>
<marker id="one" viewBox="0 0 20 14" refX="19" refY="7" markerWidth="20" markerHeight="14" orient="auto-start-reverse"><circle class="end" cx="5" cy="7" r="4"/><path class="line" d="M9 7H19M14 2V12"/></marker>
</defs>`;

const ENDS: Readonly<Record<Link['kind'], readonly [start: string, end: string]>> = {
  one: ['many', 'one'],
  many: ['one', 'many'],
  copies: ['many', 'one'],
};

function columnsOf({ properties }: Entity): {
  readonly marks: number;
  readonly names: number;
  readonly types: number;
} {
  const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map(({ length }) => length));
  return {
    marks: properties.some(({ mark }) => mark !== undefined) ? 2 + GAP : 0,
    names: widest(properties.map(({ name }) => name)) + GAP,
    types: widest(properties.map(typeOf)),
  };
}

const typeOf = ({ type, family }: Entity['properties'][number]): string =>
  family === undefined ? type : `${type} ${family}:`;

function sizeOf(entity: Entity): { width: number; height: number } {
  const { marks, names, types } = columnsOf(entity);
  const letters = Math.max(entity.name.length, marks + names + types);
  return { width: letters * LETTER + 2 * PADDING, height: (entity.properties.length + 1) * LINE + PADDING };
}

function drawEntity(entity: Entity, { x, y, width, height }: Placed): string {
  const [left, top] = [x - width / 2, y - height / 2];
  const { marks, names } = columnsOf(entity);
  const at = (letters: number): string => number(left + PADDING + letters * LETTER);
  const rows = entity.properties.map((property, row) => {
    const base = number(top + (row + 2) * LINE);
    const mark =
      property.mark === undefined
        ? ''
        : `<text class="type" x="${at(0)}" y="${base}">${property.mark}</text>`;
    return `${mark}<text x="${at(marks)}" y="${base}">${escaped(property.name)}</text><text class="type" x="${at(marks + names)}" y="${base}">${escaped(typeOf(property))}</text>`;
  });
  const box = `x="${number(left)}" y="${number(top)}" width="${number(width)}"`;
  return [
    `<g><rect class="box" ${box} height="${number(height)}"/><rect class="box head" ${box} height="${LINE + 4}"/>`,
    `<text class="name" x="${at(0)}" y="${number(top + LINE - 2)}">${escaped(entity.name)}</text>`,
    ...rows,
    '</g>',
  ].join('\n');
}

function drawLink({ label, kind }: Link, { points, x, y }: Line): string {
  const [first, ...rest] = points;
  const [start, end] = ENDS[kind];
  const path = `M${pair(first!)}${rest.map((point) => `L${pair(point)}`).join('')}`;
  const width = label.length * LETTER;
  const back = `<rect class="back" x="${number(x - width / 2 - 2)}" y="${number(y - LINE / 2)}" width="${number(width + 4)}" height="${LINE}"/>`;
  return `<path class="line${kind === 'copies' ? ' copies' : ''}" d="${path}" marker-start="url(#${start})" marker-end="url(#${end})"/>${back}<text class="label" text-anchor="middle" x="${number(x)}" y="${number(y + 4)}">${escaped(label)}</text>`;
}

const number = (value: number): string => String(Math.round(value * 10) / 10);
const pair = ({ x, y }: Point): string => `${number(x)} ${number(y)}`;

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => ENTITIES[letter]!);
