/** What a store is to hold: the newest value of every column, by table and row. */
export class Model {
  private readonly tables: Map<string, Map<string, Map<string, string>>>;

  constructor(tables = new Map<string, Map<string, Map<string, string>>>()) {
    this.tables = tables;
  }

  createTable(table: string): void {
    this.tables.set(table, new Map());
  }

  dropTable(table: string): void {
    this.tables.delete(table);
  }

  /** `value` undefined removes the column. */
  set(table: string, row: string, column: string, value: string | undefined): void {
    const rows = this.tables.get(table)!;
    const columns = rows.get(row) ?? new Map<string, string>();
    if (value === undefined) columns.delete(column);
    else columns.set(column, value);
    if (columns.size === 0) rows.delete(row);
    else rows.set(row, columns);
  }

  get(table: string, row: string, column: string): string | undefined {
    return this.tables.get(table)?.get(row)?.get(column);
  }

  removeRow(table: string, row: string): void {
    this.tables.get(table)!.delete(row);
  }

  rows(table: string): string[] {
    return [...(this.tables.get(table)?.keys() ?? [])].sort();
  }

  /** All of it as text: two models are equal when their texts are. */
  digest(): string {
    const lines: string[] = [];
    for (const table of [...this.tables.keys()].sort()) {
      lines.push(`table ${table}`);
      for (const row of this.rows(table)) {
        const columns = this.tables.get(table)!.get(row)!;
        for (const column of [...columns.keys()].sort())
          lines.push(`${row} ${column} ${columns.get(column)}`);
      }
    }
    return lines.join('\n');
  }
}
