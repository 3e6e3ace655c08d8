/** Entities and their relations as a diagram, drawn from the declarations; as a file of SVG or Mermaid. */

import type { Catalog, EntityInfo, RelationInfo } from '../server/api.js';
import { Code, saveFile } from './parts.js';
import { entityHash } from './routes.js';

const WIDTH = 260;
const LINE = 18;
const HEAD = 44;
const GAP_X = 120;
const GAP_Y = 36;
/** Columns that a box names; more are counted. */
const MAX_COLUMNS = 14;

interface Box {
  readonly entity: EntityInfo;
  readonly lines: readonly { readonly name: string; readonly type: string; readonly isKey: boolean }[];
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly kind: 'one' | 'many' | 'copy';
  readonly declared: boolean;
}

/** Relations of entities, each pair once for each property; where nothing is declared, what the keys share. */
function edgesOf(entities: readonly EntityInfo[]): Edge[] {
  const names = new Set(entities.map(({ name }) => name));
  const edges: Edge[] = [];
  for (const entity of entities) {
    for (const relation of entity.relations) {
      if (!names.has(relation.entity) || isReverse(relation, entity, edges)) continue;
      edges.push({
        from: entity.name,
        to: relation.entity,
        label: relation.declared ? relation.property : relation.via.map(([part]) => part).join(', '),
        kind: relation.kind,
        declared: relation.declared,
      });
    }
    for (const { from, properties } of entity.copies) {
      if (names.has(from))
        edges.push({ from, to: entity.name, label: properties.join(', '), kind: 'copy', declared: true });
    }
  }
  return edges;
}

/** Whether the other entity has told of the same shared key already. */
const isReverse = (relation: RelationInfo, { name }: EntityInfo, edges: readonly Edge[]): boolean =>
  !relation.declared &&
  edges.some(({ from, to, declared }) => !declared && from === relation.entity && to === name);

/** Entities of one table below each other, tables side by side. */
function boxesOf(entities: readonly EntityInfo[]): Box[] {
  const tables = [...new Set(entities.map(({ table }) => table))];
  const perLine = Math.max(1, Math.ceil(Math.sqrt(tables.length * 1.6)));
  const boxes: Box[] = [];
  let top = 30;
  for (let first = 0; first < tables.length; first += perLine) {
    let bottom = top;
    for (const [column, table] of tables.slice(first, first + perLine).entries()) {
      let y = top;
      for (const entity of entities.filter((each) => each.table === table)) {
        const lines = linesOf(entity);
        const height = HEAD + lines.length * LINE + 8;
        boxes.push({ entity, lines, x: 20 + column * (WIDTH + GAP_X), y, height });
        y += height + GAP_Y;
      }
      bottom = Math.max(bottom, y);
    }
    top = bottom + GAP_Y;
  }
  return boxes;
}

function linesOf(entity: EntityInfo): Box['lines'] {
  const parts = entity.parts.map(({ name, codec }) => ({ name, type: codec, isKey: true }));
  const keyed = new Set(parts.map(({ name }) => name));
  const columns = entity.columns
    .filter(({ property }) => !keyed.has(property))
    .map(({ property, codec }) => ({ name: property, type: codec, isKey: false }));
  const more = columns.length - MAX_COLUMNS;
  return [
    ...parts,
    ...columns.slice(0, MAX_COLUMNS),
    ...(more > 0 ? [{ name: `${more} more`, type: '', isKey: false }] : []),
  ];
}

/** The diagram in Mermaid's language. */
function mermaidOf(entities: readonly EntityInfo[]): string {
  const word = (text: string): string => text.replace(/[^A-Za-z0-9_]+/g, '_').replace(/^_+|_+$/g, '') || '_';
  const boxes = entities.map((entity) => {
    const lines = linesOf(entity).filter(({ type }) => type !== '');
    const inside = lines.map(
      ({ name, type, isKey }) => `    ${word(type)} ${word(name)}${isKey ? ' PK' : ''}`,
    );
    return [`  ${word(entity.name)} {`, ...inside, '  }'].join('\n');
  });
  const ends = { one: '}o--||', many: '||--o{', copy: '||..o{' };
  const edges = edgesOf(entities).map(
    ({ from, to, label, kind }) =>
      `  ${word(from)} ${ends[kind]} ${word(to)} : "${(kind === 'copy' ? `copies ${label}` : label).replace(/"/g, "'")}"`,
  );
  return ['erDiagram', ...boxes, ...edges, ''].join('\n');
}

export function DiagramView({ catalog }: { readonly catalog: Catalog }) {
  const { entities } = catalog;
  const boxes = boxesOf(entities);
  const edges = edgesOf(entities);
  const width = Math.max(320, ...boxes.map(({ x }) => x + WIDTH + 90));
  const height = Math.max(120, ...boxes.map((box) => box.y + box.height + 30));
  const mermaid = mermaidOf(entities);
  const save = (): void => {
    const drawing = document.getElementById('diagram')?.cloneNode(true) as SVGElement | undefined;
    if (drawing === undefined) return;
    // Links and classes are of the page; colors of a file are its own.
    for (const link of drawing.querySelectorAll('a')) link.removeAttribute('href');
    const style = document.createElementNS('http://www.w3.org/2000/svg', 'style');
    style.textContent = FILE_STYLE;
    drawing.prepend(style);
    drawing.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    saveFile('entities.svg', 'image/svg+xml', new XMLSerializer().serializeToString(drawing));
  };
  return (
    <>
      <h1>
        Diagram <small>entities by table, with their keys, columns and relations</small>
        <span class="aside">
          <button type="button" onClick={save}>
            Save SVG
          </button>
          <button type="button" onClick={() => saveFile('entities.mmd', 'text/plain', mermaid)}>
            Save Mermaid
          </button>
        </span>
      </h1>
      <p class="legend">
        <svg width="34" height="10" aria-hidden="true">
          <path d="M0 5H34" class="edge" />
        </svg>
        declared relation
        <svg width="34" height="10" aria-hidden="true">
          <path d="M0 5H34" class="edge shared" />
        </svg>
        keys that begin alike
        <svg width="34" height="10" aria-hidden="true">
          <path d="M0 5H34" class="edge copy" />
        </svg>
        copied columns
      </p>
      <div class="scroll diagram-box" tabIndex={0} role="group" aria-label="Diagram, scrollable">
        <svg id="diagram" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group">
          <title>Entities and their relations</title>
          <TableFrames boxes={boxes} />
          {edges.map((edge, at) => (
            <EdgeLine
              key={`${edge.from} ${edge.to} ${edge.label}`}
              edge={edge}
              boxes={boxes}
              lane={edges.slice(0, at).filter((other) => joins(other, edge)).length}
            />
          ))}
          {boxes.map((box) => (
            <EntityBox key={box.entity.name} box={box} />
          ))}
        </svg>
      </div>
      <Code label="Mermaid" text={mermaid} />
    </>
  );
}

function TableFrames({ boxes }: { readonly boxes: readonly Box[] }) {
  const tables = [...new Set(boxes.map(({ entity }) => entity.table))];
  return (
    <>
      {tables.map((table) => {
        const own = boxes.filter(({ entity }) => entity.table === table);
        const last = own.at(-1)!;
        const { x, y } = own[0]!;
        return (
          <g key={table}>
            <rect
              class="frame"
              x={x - 12}
              y={y - 24}
              width={WIDTH + 24}
              height={last.y + last.height - y + 36}
              rx="8"
            />
            <text class="faint" x={x} y={y - 9}>
              {table}
            </text>
          </g>
        );
      })}
    </>
  );
}

function EntityBox({ box: { entity, lines, x, y, height } }: { readonly box: Box }) {
  return (
    <g transform={`translate(${x} ${y})`}>
      <rect class="box" width={WIDTH} height={height} rx="6" />
      <a href={entityHash(entity.name)}>
        <text class="name" x="10" y="18">
          {entity.name}
        </text>
      </a>
      <text class="faint small" x="10" y="34">
        {entity.layout.length > 40 ? `${entity.layout.slice(0, 39)}…` : entity.layout}
        <title>{entity.layout}</title>
      </text>
      <path class="rule" d={`M0 ${HEAD - 4}H${WIDTH}`} />
      {lines.map(({ name, type, isKey }, at) => (
        <g key={name} transform={`translate(10 ${HEAD + at * LINE + 10})`}>
          <text class={isKey ? 'key' : ''}>{name}</text>
          <text class="faint small" x={WIDTH - 20} text-anchor="end">
            {type.length > 22 ? `${type.slice(0, 21)}…` : type}
          </text>
        </g>
      ))}
    </g>
  );
}

/** Whether two lines are between the same entities, in either direction. */
const joins = (a: Edge, b: Edge): boolean =>
  (a.from === b.from && a.to === b.to) || (a.from === b.to && a.to === b.from);

interface EdgeLineProps {
  readonly edge: Edge;
  readonly boxes: readonly Box[];
  /** Its number among the lines between the same entities. */
  readonly lane: number;
}

function EdgeLine({ edge, boxes, lane }: EdgeLineProps) {
  const from = boxes.find(({ entity }) => entity.name === edge.from)!;
  const to = boxes.find(({ entity }) => entity.name === edge.to)!;
  const sideways = from.x !== to.x;
  const leftward = to.x < from.x;
  const x1 = from.x + (leftward ? 0 : WIDTH);
  const x2 = to.x + (sideways && !leftward ? 0 : WIDTH);
  const y1 = from.y + 24 + lane * 26;
  const y2 = to.y + 24 + lane * 26;
  // Between boxes of one column the line goes round their right side.
  const bend = sideways ? Math.abs(x2 - x1) / 2 : 40 + lane * 12 + Math.abs(y2 - y1) / 12;
  const c1 = x1 + (leftward ? -bend : bend);
  const c2 = x2 + (sideways && !leftward ? -bend : bend);
  const kind = edge.kind === 'copy' ? 'copy' : edge.declared ? '' : 'shared';
  const marks = edge.kind === 'one' ? ['n', '1'] : ['1', 'n'];
  const side = (leftward: boolean): number => (leftward ? -8 : 8);
  return (
    <g>
      <path class={`edge ${kind}`} d={`M${x1} ${y1}C${c1} ${y1} ${c2} ${y2} ${x2} ${y2}`} />
      <text
        class="faint small"
        x={(x1 + x2 + c1 + c2) / 4 + (sideways ? 0 : 14)}
        y={(y1 + y2) / 2 - 4}
        text-anchor={sideways ? 'middle' : 'start'}
      >
        {edge.kind === 'copy' ? `copies ${edge.label}` : edge.label}
      </text>
      <text class="faint small" x={x1 + side(leftward)} y={y1 - 4} text-anchor={leftward ? 'end' : 'start'}>
        {marks[0]}
      </text>
      <text
        class="faint small"
        x={x2 + side(sideways && !leftward)}
        y={y2 - 4}
        text-anchor={sideways && !leftward ? 'end' : 'start'}
      >
        {marks[1]}
      </text>
    </g>
  );
}

const FILE_STYLE =
  'svg{background:#fff;font:13px system-ui,sans-serif;fill:#1f2328}.box{fill:#fff;stroke:#8b8780}' +
  '.frame{fill:none;stroke:#d9d5cd;stroke-dasharray:4 3}.rule{stroke:#d9d5cd}.edge{fill:none;stroke:#9a3412;stroke-width:1.5}' +
  '.shared{stroke:#5a5f66;stroke-dasharray:5 3}.copy{stroke:#0043ce;stroke-dasharray:1 3}.faint{fill:#5a5f66}' +
  '.small{font-size:11px}.name,.key{font-weight:600}';
