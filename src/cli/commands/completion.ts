import { type Command, InvalidArgumentError as UsageError } from 'commander';
import type { CliContext } from '../context.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** `rowan completion bash|zsh|fish`: prints a completion script, generated from the program itself. */
export function addCompletionCommand(program: Command, context: CliContext): void {
  program
    .command('completion')
    .description('Prints a script that completes commands and options: source <(rowan completion bash)')
    .argument('<shell>', SHELLS.join(', '), (text: string): Shell => {
      if ((SHELLS as readonly string[]).includes(text)) return text as Shell;
      throw new UsageError(`Give one of ${SHELLS.join(', ')}.`);
    })
    .action((shell: Shell) => context.write(completionScript(program, shell)));
}

/** A command and the words that may follow it. */
interface Node {
  /** "schema plan"; empty: rowan itself. */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly about: string }[];
}

function completionScript(program: Command, shell: Shell): string {
  const nodes = nodesOf(program, '');
  if (shell === 'fish') return fish(nodes);
  return shell === 'bash'
    ? bash(nodes)
    : `#compdef rowan\nautoload -U +X bashcompinit && bashcompinit\n${bash(nodes)}`;
}

function nodesOf(command: Command, path: string): Node[] {
  const words = [
    ...command.commands.map((child) => ({
      word: child.name(),
      about: child.summary() || child.description(),
    })),
    ...command.options.flatMap(({ long, description }) =>
      long === undefined || long === null ? [] : [{ word: long, about: description }],
    ),
    { word: '--help', about: 'show help' },
  ];
  const inner = command.commands.flatMap((child) => nodesOf(child, `${path} ${child.name()}`.trim()));
  return [{ path, words }, ...inner];
}

/** Completes file names where no word matches. The preceding command words determine the node. */
function bash(nodes: readonly Node[]): string {
  const cases = nodes.map(
    ({ path, words }) => `    '${path}') words='${words.map(({ word }) => word).join(' ')}' ;;`,
  );
  const paths = nodes.map(({ path }) => path).filter(Boolean);
  return `_rowan() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path='' words='' word next
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    case "$next" in
      ${paths.map((path) => `'${path}'`).join('|')}) path="$next" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$cur"))
}
complete -o filenames -F _rowan rowan
`;
}

function fish(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, words }) => {
    const parts = path.split(' ').filter(Boolean);
    const deeper = nodes
      .filter((node) => node.path.split(' ').length === parts.length + 1 && node.path.startsWith(path))
      .map((node) => node.path.split(' ').at(-1)!)
      .filter(Boolean);
    const seen = parts.map((part) => `__fish_seen_subcommand_from ${part}`);
    const not = deeper.length === 0 ? [] : [`not __fish_seen_subcommand_from ${deeper.join(' ')}`];
    const condition = [...seen, ...not].join('; and ') || 'true';
    return words.map(({ word, about }) => {
      const given = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c rowan -n '${condition}' ${given} -d '${firstSentence(about)}'`;
    });
  });
  return `${lines.join('\n')}\n`;
}

function firstSentence(text: string): string {
  return (text.split(/(?<=\.)\s/)[0] ?? '').replaceAll("'", '').replaceAll('\n', ' ');
}
