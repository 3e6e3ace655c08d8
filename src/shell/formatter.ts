/** Lays rows out as the HBase shell does. Without a width (no terminal) columns are only set apart by a blank. */
export class Formatter {
  private rows = 0;

  constructor(
    private readonly write: (text: string) => void,
    private readonly width: () => number,
  ) {}

  line(text: string): void {
    this.write(`${text}\n`);
  }

  /** Titles; the rows behind them are counted anew. */
  header(...titles: readonly string[]): void {
    if (titles.length > 0) this.print(titles, false);
    this.rows = 0;
  }

  row(...cells: readonly string[]): void {
    this.print(cells, true);
    this.rows++;
  }

  footer(rows: number = this.rows): void {
    this.line(`${rows} row(s)`);
  }

  private print(cells: readonly string[], inset: boolean): void {
    const width = this.width();
    if (cells.length === 1) {
      for (const part of split(cells[0]!, width)) this.line(part);
      return;
    }
    const first = Math.floor(width / 4);
    const second = width === 0 ? 0 : width - first - 2;
    const left = split(cells[0]!, first);
    const right = split(cells[1]!, second);
    for (let i = 0; i < Math.max(left.length, right.length); i++) {
      const start = (left[i] ?? '').padEnd(first);
      this.line(`${inset ? ' ' : ''}${start}${inset ? '' : ' '} ${(right[i] ?? '').padEnd(second)}`);
    }
  }
}

function split(text: string, width: number): string[] {
  if (width === 0) return [text];
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += width) parts.push(text.slice(at, at + width));
  return parts;
}
