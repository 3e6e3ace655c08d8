/** A command cannot do what was asked; the message is what the HBase shell prints behind `ERROR: `. */
export class CommandError extends Error {}
