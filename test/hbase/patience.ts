/** Milliseconds after which a condition is not waited for any more: far above what a busy machine takes. */
export const GIVE_UP = 300_000;

/** Of polls of what a server does in its own time. */
export const PATIENCE = { timeout: GIVE_UP, interval: 200 };
