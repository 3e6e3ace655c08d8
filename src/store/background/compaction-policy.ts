/**
 * Selects the files of a family to compact next (HBase `ExploringCompactionPolicy`, `RatioBasedCompactionPolicy`). Files are ordered
 * oldest first. Only adjacent files are merged, so that the order of files stays the order of their writes.
 */

/** The properties of a file by which the policy decides. */
interface CompactionCandidate {
  /** Bytes on disk. */
  readonly size: number;
  /** The file is shared with another region since a split: merged first, because a region with shared files cannot be split. */
  readonly reference: boolean;
}

export interface CompactionSettings {
  /** The fewest files that are merged; default 3 (`hbase.hstore.compaction.min`). */
  readonly minFiles: number;
  /** The most files that are merged at once; default 10 (`hbase.hstore.compaction.max`). */
  readonly maxFiles: number;
  /** No file of a selection is larger than this times the sum of the others; default 1.2. */
  readonly ratio: number;
  /**
   * Selections smaller than this many bytes need not satisfy the ratio; default 1 MiB, or the memstore's flush size if that is smaller.
   * HBase's default is the flush size, but its servers seldom write files smaller than that. A store that is closed flushes what it has:
   * with every other opening it would write files of up to 64 MiB anew.
   */
  readonly minSize: number;
  /** Larger files are only merged by major compactions; default: no limit. */
  readonly maxSize: number;
  /** With at least so many files some are merged even if no selection satisfies the ratio; default 16. */
  readonly blockingFiles: number;
}

export const DEFAULT_COMPACTION: CompactionSettings = Object.freeze({
  minFiles: 3,
  maxFiles: 10,
  ratio: 1.2,
  minSize: 1024 * 1024,
  maxSize: Number.MAX_SAFE_INTEGER,
  blockingFiles: 16,
});

/** The names of the settings in the configuration of a table or family, as in HBase, and the least that each may be. */
const NAMES: readonly (readonly [keyof CompactionSettings, name: string, least: number])[] = [
  ['minFiles', 'hbase.hstore.compaction.min', 2],
  ['maxFiles', 'hbase.hstore.compaction.max', 2],
  ['ratio', 'hbase.hstore.compaction.ratio', 0],
  ['minSize', 'hbase.hstore.compaction.min.size', 0],
  ['maxSize', 'hbase.hstore.compaction.max.size', 1],
  ['blockingFiles', 'hbase.hstore.blockingStoreFiles', 2],
];

/** The store's settings with those that a table or family has in place of them. What is no number, or too low, is passed over. */
export function compactionSettingsOf(
  store: CompactionSettings,
  configuration: Readonly<Record<string, string>>,
): CompactionSettings {
  const own: Partial<Record<keyof CompactionSettings, number>> = {};
  for (const [setting, name, least] of NAMES) {
    const value = Number.parseFloat(configuration[name] ?? '');
    if (value >= least) own[setting] = value;
  }
  return { ...store, ...own };
}

/** A range of adjacent files: `start` inclusive, `end` exclusive. */
interface Selection {
  readonly start: number;
  readonly end: number;
}

/** The files to merge; undefined when a compaction does not pay. */
export function selectFiles(
  files: readonly CompactionCandidate[],
  settings: CompactionSettings = DEFAULT_COMPACTION,
): Selection | undefined {
  const references = files.findIndex((file) => file.reference);
  if (references >= 0) return { start: references, end: referencesEnd(files, references) };
  let first = 0;
  while (first < files.length && files[first]!.size > settings.maxSize) first++;
  const stuck = files.length >= settings.blockingFiles;
  let best: (Selection & { readonly size: number }) | undefined;
  let smallest: (Selection & { readonly size: number }) | undefined;
  for (let start = first; start < files.length; start++) {
    let size = 0;
    for (let end = start; end < Math.min(files.length, start + settings.maxFiles); end++) {
      size += files[end]!.size;
      if (end - start + 1 < settings.minFiles || size > settings.maxSize) continue;
      const selection = { start, end: end + 1, size };
      if (!smallest || size < smallest.size) smallest = selection;
      if (size >= settings.minSize && !keepsRatio(files, selection, settings.ratio)) continue;
      if (!best || isBetter(selection, best, stuck)) best = selection;
    }
  }
  const chosen = best ?? (stuck ? smallest : undefined);
  return chosen && { start: chosen.start, end: chosen.end };
}

function referencesEnd(files: readonly CompactionCandidate[], start: number): number {
  let end = start;
  for (let i = start; i < files.length; i++) if (files[i]!.reference) end = i + 1;
  return end;
}

function keepsRatio(
  files: readonly CompactionCandidate[],
  selection: Selection & { size: number },
  ratio: number,
): boolean {
  for (let i = selection.start; i < selection.end; i++) {
    const size = files[i]!.size;
    if (size > (selection.size - size) * ratio) return false;
  }
  return true;
}

/** Prefers more files, then fewer bytes; when the store has nearly too many files, more files for each byte. */
function isBetter(
  candidate: Selection & { size: number },
  best: Selection & { size: number },
  stuck: boolean,
): boolean {
  const files = candidate.end - candidate.start;
  const bestFiles = best.end - best.start;
  if (stuck && best.size > 0 && candidate.size > 0)
    return files / candidate.size > (bestFiles / best.size) * 1.05;
  return files > bestFiles || (files === bestFiles && candidate.size < best.size);
}
