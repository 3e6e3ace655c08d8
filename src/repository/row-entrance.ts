/** A writer before the row's gate. */
interface Waiting {
  readonly alone: boolean;
  readonly enter: () => void;
}

/** Who is inside of one row's gate, and who waits for it, in the order in which they came. */
export class Entry {
  inside = 0;
  alone = false;
  readonly waiting: Waiting[] = [];
}
