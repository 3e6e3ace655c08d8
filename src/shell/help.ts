import type { ShellCommand } from './command.js';

/** What `help 'command'` prints. */
export function describeCommand({ name, summary, examples, aliases = [] }: ShellCommand): string {
  const also = aliases.length === 0 ? '' : ` Also: ${aliases.join(', ')}.`;
  return `${name}: ${summary}${also}\n${examples.map((example) => `\n  hbase> ${example}`).join('')}\n`;
}

/** What `help` prints. */
export function overview(commands: readonly ShellCommand[]): string {
  const groups = new Map<string, string[]>();
  for (const { group, name } of commands) groups.set(group, [...(groups.get(group) ?? []), name]);
  const lines = [
    `Type help 'COMMAND' for a command, help 'GROUP' for a group of them.`,
    '',
    'COMMAND GROUPS:',
  ];
  for (const [group, names] of groups) {
    lines.push(`  Group name: ${group}`, `  Commands: ${names.sort().join(', ')}`, '');
  }
  lines.push(
    'Names of tables and columns stand in quotes, arguments are set apart by commas, and options are hashes of Ruby:',
    "  {NAME => 'f', VERSIONS => 5}",
    'Bytes stand in double quotes: "key\\x03\\xff".',
  );
  return `${lines.join('\n')}\n`;
}
